import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { embeddedSecrets, removeOldDrafts, replaceEncryptionKey } from '../../src/data/embedded/secrets.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'engagement-secrets-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('the secrets are created once and kept, readable only by their owner', () => {
  const dataDir = join(folder, 'deep', 'data')
  const made = embeddedSecrets(dataDir)
  expect(made.ENCRYPTION_KEY).toHaveLength(32)
  expect(made.ADMIN_JWT_SECRET.length).toBeGreaterThanOrEqual(32)
  expect(embeddedSecrets(dataDir)).toEqual(made)
  expect(readdirSync(dataDir)).toEqual(['secrets.json'])
  expect(statSync(join(dataDir, 'secrets.json')).mode & 0o777).toBe(0o600)
})

test('a new ENCRYPTION_KEY keeps the previous one for opening, and of older ones those that are needed', () => {
  const first = embeddedSecrets(folder)
  const second = replaceEncryptionKey(folder, () => false)
  expect(second.ENCRYPTION_KEYS).toEqual([first.ENCRYPTION_KEY])
  const third = replaceEncryptionKey(folder, () => true)
  expect(third.ENCRYPTION_KEYS).toEqual([second.ENCRYPTION_KEY, first.ENCRYPTION_KEY])
  const fourth = replaceEncryptionKey(folder, (key) => key.equals(second.ENCRYPTION_KEY))
  expect(fourth.ENCRYPTION_KEYS).toEqual([third.ENCRYPTION_KEY, second.ENCRYPTION_KEY])
  expect(fourth.ADMIN_JWT_SECRET).toBe(first.ADMIN_JWT_SECRET)
  expect(embeddedSecrets(folder)).toEqual(fourth)
  expect(readdirSync(folder)).toEqual(['secrets.json'])
})

test('the draft of a process with the same number, in another container, is left alone', () => {
  const theirs = join(folder, `secrets.json.${process.pid}`)
  writeFileSync(theirs, 'theirs')
  embeddedSecrets(folder)
  expect(readFileSync(theirs, 'utf8')).toBe('theirs')
})

test.each([
  '',
  '{}',
  '{"ADMIN_JWT_SECRET":"',
  '{"ADMIN_JWT_SECRET":"01234567890123456789012345678901","ENCRYPTION_KEY":"AAAA"}',
])('a damaged file is never replaced: %s', (text) => {
  writeFileSync(join(folder, 'secrets.json'), text)
  expect(() => embeddedSecrets(folder)).toThrow(/^DATA_DIR: .*damaged/)
})

test('a folder that cannot be written is named in the error', () => {
  writeFileSync(join(folder, 'file'), '')
  expect(() => embeddedSecrets(join(folder, 'file'))).toThrow(/^DATA_DIR: /)
})

test('deletes a draft that a killed process has left, and nothing else', () => {
  embeddedSecrets(folder)
  const [old, young] = [randomUUID(), randomUUID()].map((id) => `secrets.json.${id}`)
  for (const name of [old, young, 'secrets.json.bak']) writeFileSync(join(folder, String(name)), '')
  const before = new Date(Date.now() - 3_600_000)
  for (const name of [old, 'secrets.json.bak', 'secrets.json']) utimesSync(join(folder, String(name)), before, before)
  removeOldDrafts(folder)
  expect(new Set(readdirSync(folder))).toEqual(new Set(['secrets.json', 'secrets.json.bak', young]))
})
