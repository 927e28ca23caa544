import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'

/** Since Node 22.1. */
const CAN_KEEP = 'enableCompileCache' in module

// A build in a folder of its own, whose kept code the tests damage.
let root: string
let cache: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'engagement-code-'))
  cache = join(root, 'dist/.compile-cache')
  cpSync(join(ROOT, 'package.json'), join(root, 'package.json'))
  for (const name of ['cli', 'chunks', 'compile-cache.js']) {
    cpSync(join(ROOT, 'dist', name), join(root, 'dist', name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

async function expectCommand(): Promise<void> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(root, 'dist/cli/cli.js'), '--help'])
  expect([stdout, stderr]).toEqual([expect.stringContaining('tenant create'), ''])
}

const keptFiles = (): string[] =>
  readdirSync(cache, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

test.runIf(CAN_KEEP)('a command keeps its compiled code, and runs with it, damaged or not (Node 22.1)', async () => {
  await expectCommand()
  expect(keptFiles().length).toBeGreaterThan(5)
  await expectCommand()
  const damages: ((code: Buffer) => Buffer)[] = [
    (code) => code.fill(1, code.length >> 1, (code.length >> 1) + 8),
    (code) => code.subarray(0, code.length - 100),
    () => Buffer.alloc(0),
  ]
  for (const damage of damages) {
    for (const file of keptFiles()) writeFileSync(file, damage(readFileSync(file)))
    await expectCommand()
  }
})

test('a command runs where no code can be kept', async () => {
  rmSync(cache, { recursive: true, force: true })
  writeFileSync(cache, 'no folder')
  await expectCommand()
  expect(readFileSync(cache, 'utf8')).toBe('no folder')
})
