import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'
import { useFolder } from '../harness/folders.ts'

const root = useFolder()

test('the check of lock files names each that is not in step with its package.json', () => {
  const add = (folder: string, wanted: object): void => {
    mkdirSync(join(root, folder), { recursive: true })
    const own = { name: 'a', version: '1.0.0' }
    const lock = { ...own, lockfileVersion: 3, packages: { '': own } }
    writeFileSync(join(root, folder, 'package.json'), JSON.stringify({ ...own, dependencies: wanted }))
    writeFileSync(join(root, folder, 'package-lock.json'), JSON.stringify(lock))
  }
  add('.', {})
  add('examples/good', {})
  add('examples/stale', { another: '1.0.0' })
  for (const args of [
    ['init', '--quiet'],
    ['add', '.'],
  ])
    spawnSync('git', args, { cwd: root })
  const { status, stderr } = spawnSync('node', [join(ROOT, 'test/ci/lock-files.mjs'), root], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(/^examples\/stale\/package-lock.json is not in step.*\n$/),
  ])
})
