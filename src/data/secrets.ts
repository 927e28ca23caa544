import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { SettingsError } from '../core/settings.ts'

const schema = z.object({ ADMIN_JWT_SECRET: z.string().min(32), ENCRYPTION_KEY: z.base64() }).transform((kept, ctx) => {
  const ENCRYPTION_KEY = Buffer.from(kept.ENCRYPTION_KEY, 'base64')
  if (ENCRYPTION_KEY.length !== 32) ctx.addIssue({ code: 'custom', message: 'not 32 bytes' })
  return { ...kept, ENCRYPTION_KEY }
})

export interface EmbeddedSecrets {
  ADMIN_JWT_SECRET: string
  ENCRYPTION_KEY: Buffer
}

/** The two secrets of an embedded service: made at its first start, kept below `dataDir` for its owner's eyes only. */
export function embeddedSecrets(dataDir: string): EmbeddedSecrets {
  const file = join(dataDir, 'secrets.json')
  return check(file, read(file) ?? make(dataDir, file))
}

/** The same where they have been made; null where not. */
export function keptSecrets(dataDir: string): EmbeddedSecrets | null {
  const file = join(dataDir, 'secrets.json')
  const text = read(file)
  return text === undefined ? null : check(file, text)
}

function check(file: string, text: string): EmbeddedSecrets {
  const result = schema.safeParse(parse(text))
  // Made anew, they would leave every sealed secret in the database unreadable.
  if (!result.success) throw new SettingsError(`DATA_DIR: ${file} is damaged; restore it from a backup`)
  return result.data
}

function make(dataDir: string, file: string): string {
  const secrets = {
    ADMIN_JWT_SECRET: randomBytes(32).toString('base64url'),
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  }
  const draft = `${file}.${process.pid}`
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(draft, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flush: true })
    try {
      // Unlike a rename, a link never replaces what another process has made meanwhile, and is never half written.
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
