import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { ROOT } from '../../src/core/root.ts'

// A build of this machine in a folder of its own, whose compiled code the tests damage.
let root: string
const chunks = (): string => join(root, 'dist/chunks')

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'engagement-code-'))
  mkdirSync(join(root, 'dist'))
  cpSync(join(ROOT, 'package.json'), join(root, 'package.json'))
  for (const name of ['cli', 'load.js']) cpSync(join(ROOT, 'dist', name), join(root, 'dist', name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
})
beforeEach(() => cpSync(join(ROOT, 'dist/chunks'), chunks(), { recursive: true }))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Writes for each script whether V8 has refused its code; nothing where it had none. */
const WATCH = `data:text/javascript,${encodeURIComponent(`
  import { syncBuiltinESMExports } from 'node:module'
  import vm from 'node:vm'
  const { Script } = vm
  vm.Script = class extends Script {
    constructor(source, options) {
      super(source, options)
      if (options.cachedData) console.error(this.cachedDataRejected ? 'refused' : 'taken')
    }
  }
  syncBuiltinESMExports()
`)}`

/** What V8 did with the code of a command's chunks. Rejects where the command fails. */
async function runCommand(...flags: string[]): Promise<string[]> {
  const args = [...flags, '--import', WATCH, join(root, 'dist/cli/cli.js'), '--help']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toContain('tenant create')
  return [...new Set(stderr.split('\n').filter((line) => line !== ''))]
}

function change(to: (code: Buffer, source: Buffer) => Buffer): void {
  for (const name of readdirSync(chunks()).filter((each) => each.endsWith('.code'))) {
    const source = readFileSync(join(chunks(), name.replace(/\.[0-9a-f]+\.code$/, '')))
    writeFileSync(join(chunks(), name), to(readFileSync(join(chunks(), name)), source))
  }
}

test('a command runs with the code that the build has compiled', async () => {
  expect(await runCommand()).toEqual(['taken'])
})

test('a command runs without compiled code', async () => {
  for (const name of readdirSync(chunks()).filter((each) => each.endsWith('.code'))) rmSync(join(chunks(), name))
  expect(await runCommand()).toEqual([])
})

test('code in which a byte is wrong, and code that is cut short, is not given to V8', async () => {
  change((code) => {
    code[code.length >> 1] = (code[code.length >> 1] ?? 0) ^ 1
    return code
  })
  expect(await runCommand()).toEqual([])
  for (const bytes of [0, 3, 1000]) {
    change((code) => code.subarray(0, bytes))
    expect(await runCommand()).toEqual([])
  }
})

test('code of another source is not given to V8', async () => {
  for (const name of readdirSync(chunks()).filter((each) => each.endsWith('.cjs'))) {
    const file = join(chunks(), name)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/$/, ' '))
  }
  expect(await runCommand()).toEqual([])
})

test('a command runs where V8 refuses the code', async () => {
  change((_code, source) => {
    const code = randomBytes(5000)
    const checksum = Buffer.alloc(4)
    checksum.writeUInt32LE(crc32(code, crc32(source)))
    return Buffer.concat([checksum, code])
  })
  expect(await runCommand()).toEqual(['refused'])
})

test('a process with other flags of V8 does not read the code', async () => {
  expect(await runCommand('--max-semi-space-size=32')).toEqual([])
})
