import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'

import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

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

/** Reports for each script whether V8 has refused its code; nothing if it had none. */
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

/** What V8 did with the code of a command's chunks. Rejects if the command fails. */
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

test("a command runs with the build's compiled code", async () => {
  expect(await runCommand()).toEqual(['taken'])
})

test('a command runs without compiled code', async () => {
  for (const name of readdirSync(chunks()).filter((each) => each.endsWith('.code'))) rmSync(join(chunks(), name))
  expect(await runCommand()).toEqual([])
})

test('damaged and truncated code are not given to V8', async () => {
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

test('code for another source is not given to V8', async () => {
  for (const name of readdirSync(chunks()).filter((each) => each.endsWith('.cjs'))) {
    const file = join(chunks(), name)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/$/, ' '))
  }
  expect(await runCommand()).toEqual([])
})

test('a command runs if V8 refuses the code', async () => {
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

describe('a warm-up', () => {
  /** Starts it with this in place of the service. `isKept`: whether it says that code is kept. */
  function warmUp(service: string) {
    const dist = join(root, 'dist')
    for (const name of ['warm-up.js', 'keep-code.js']) cpSync(join(ROOT, 'dist', name), join(dist, name))
    writeFileSync(join(dist, 'main.js'), service)
    const temporary = mkdtempSync(join(root, 'tmp-'))
    const child = spawn(process.execPath, [join(dist, 'warm-up.js')], {
      env: { PATH: process.env.PATH, TMPDIR: temporary },
    })
    let said = ''
    child.stderr.on('data', (text: Buffer) => void (said += text.toString()))
    const ended = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      said,
      isKept: readdirSync(dist).some((name) => name.startsWith('.compiled')),
      left: readdirSync(temporary),
    }))
    return { child, ended, temporary }
  }

  test('whose service fails reports it, and leaves nothing', async () => {
    expect(await warmUp('process.exit(3)').ended).toEqual({
      code: 1,
      said: 'The service is not compiled ahead: main.js has failed\n',
      isKept: false,
      left: [],
    })
  })

  test('that is stopped ends its service, and leaves nothing', async () => {
    const { child, ended, temporary } = warmUp(
      `import { writeFileSync } from 'node:fs'
       writeFileSync(process.env.DATA_DIR + '/pid', String(process.pid))
       setInterval(() => undefined, 1000)`,
    )
    const pid = await vi.waitFor(
      () => {
        const [folder = ''] = readdirSync(temporary)
        const text = readFileSync(join(temporary, folder, 'pid'), 'utf8')
        expect(text).toMatch(/^\d+$/)
        return Number(text)
      },
      { timeout: 30_000, interval: 20 },
    )
    child.kill('SIGTERM')
    expect(await ended).toEqual({ code: 1, said: '', isKept: false, left: [] })
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 10_000 })
  })
})
