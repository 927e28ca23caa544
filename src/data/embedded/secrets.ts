import { randomBytes, randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { SettingsError } from '../../core/settings/settings.ts'

const key = z
  .base64()
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((bytes) => bytes.length === 32)

const schema = z.object({
  ADMIN_JWT_SECRET: z.string().min(32),
  ENCRYPTION_KEY: key,
  ENCRYPTION_KEYS: z.array(key).default([]),
})

export interface EmbeddedSecrets {
  ADMIN_JWT_SECRET: string
  ENCRYPTION_KEY: Buffer
  /** Former keys, for opening. */
  ENCRYPTION_KEYS: Buffer[]
}

/**
 * The secrets of an embedded service: made at its first start, kept below `dataDir`, readable by
 * their owner only.
 */
export function embeddedSecrets(dataDir: string): EmbeddedSecrets {
  const file = join(dataDir, 'secrets.json')
  return check(file, read(file) ?? make(dataDir, file))
}

/** The secrets below `dataDir`; null if there are none. Makes none. */
export function keptSecrets(dataDir: string): EmbeddedSecrets | null {
  const file = join(dataDir, 'secrets.json')
  const text = read(file)
  return text === undefined ? null : check(file, text)
}

/**
 * Writes a new ENCRYPTION_KEY to the file; the present key and the former ones that `isNeeded` stay
 * for opening. The caller holds the database open, so that no service runs meanwhile.
 */
export function replaceEncryptionKey(dataDir: string, isNeeded: (key: Buffer) => boolean): EmbeddedSecrets {
  const file = join(dataDir, 'secrets.json')
  const kept = embeddedSecrets(dataDir)
  const replaced = {
    ...kept,
    ENCRYPTION_KEY: randomBytes(32),
    ENCRYPTION_KEYS: [kept.ENCRYPTION_KEY, ...kept.ENCRYPTION_KEYS.filter(isNeeded)],
  }
  const draft = `${file}.${randomUUID()}`
  try {
    writeFileSync(draft, textOf(replaced), { flag: 'wx', mode: 0o600, flush: true })
    renameSync(draft, file)
  } finally {
    rmSync(draft, { force: true })
  }
  return replaced
}

const DRAFT = /^secrets\.json\.[0-9a-f-]{36}$/
const OLD_MS = 60_000

/**
 * Removes drafts that a killed process has left, because they contain keys. A recent one may be in
 * use.
 */
export function removeOldDrafts(dataDir: string): void {
  for (const name of readdirSync(dataDir).filter((each) => DRAFT.test(each))) {
    const draft = join(dataDir, name)
    const since = statSync(draft, { throwIfNoEntry: false })?.mtimeMs ?? Infinity
    if (since < Date.now() - OLD_MS) rmSync(draft, { force: true })
  }
}

function textOf({ ADMIN_JWT_SECRET, ENCRYPTION_KEY, ENCRYPTION_KEYS }: EmbeddedSecrets): string {
  const former = ENCRYPTION_KEYS.map((each) => each.toString('base64'))
  const written = {
    ADMIN_JWT_SECRET,
    ENCRYPTION_KEY: ENCRYPTION_KEY.toString('base64'),
    ...(former.length === 0 ? {} : { ENCRYPTION_KEYS: former }),
  }
  return `${JSON.stringify(written, null, 2)}\n`
}

function check(file: string, text: string): EmbeddedSecrets {
  const result = schema.safeParse(parse(text))
  // New secrets would make every sealed value in the database unreadable.
  if (!result.success) throw new SettingsError(`DATA_DIR: ${file} is damaged; restore it from a backup`)
  return result.data
}

function make(dataDir: string, file: string): string {
  const secrets = {
    ADMIN_JWT_SECRET: randomBytes(32).toString('base64url'),
    ENCRYPTION_KEY: randomBytes(32),
    ENCRYPTION_KEYS: [],
  }
  // Not named by the process number: in two containers it can be the same, and both would write
  // one draft.
  const draft = `${file}.${randomUUID()}`
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(draft, textOf(secrets), { flag: 'wx', mode: 0o600, flush: true })
    try {
      // Unlike a rename, a link never replaces the file of another process, and is never half
      // written.
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new SettingsError(
      `DATA_DIR: ${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    )
  } finally {
    rmSync(draft, { force: true })
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new SettingsError(`DATA_DIR: ${file} cannot be read (${code ?? 'unknown'})`)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
