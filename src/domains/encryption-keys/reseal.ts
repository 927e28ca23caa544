import type { App } from '../../core/app.ts'
import { allKeys, keyIdOf, seal, type SealKeys, unseal } from '../../core/secrets/seals.ts'
import { ownHeaderContext } from '../../core/delivery/own-headers.ts'
import { signingSecretContext } from '../../core/secrets/signing-secrets.ts'
import type { Sql } from '../../core/database/database.ts'
import { counted } from '../../core/input/texts.ts'
import { guestKeyContext } from '../guests/address.ts'
import { noticeContext } from '../notices/notices.ts'
import { identitySecretContext } from '../readers/keyring.ts'
import { secondFactorContext } from '../staff/second-factor.ts'
import { oidcSecretContext } from '../staff/sign-on/provider.ts'
import * as rows from './sql.ts'

const BATCH = 200

/** The sealing context of each kind of secret. */
const CONTEXTS: Readonly<Record<rows.SecretTable, (row: rows.SecretKey) => string>> = {
  webhook_secrets: ({ ownerId, kid }) => signingSecretContext(ownerId, kid),
  webhook_headers: ({ ownerId, kid }) => ownHeaderContext(ownerId, kid),
  identity_secrets: ({ ownerId, kid }) => identitySecretContext(ownerId, kid),
  classifier_secrets: ({ ownerId, kid }) => signingSecretContext(ownerId, kid),
  mail_secrets: ({ ownerId, kid }) => signingSecretContext(ownerId, kid),
  guest_keys: ({ ownerId }) => guestKeyContext(ownerId),
  oidc_secrets: ({ ownerId, kid }) => oidcSecretContext(ownerId, kid),
  notice_channels: ({ ownerId, kid }) => noticeContext(ownerId, kid),
  second_factors: ({ ownerId, kid }) => secondFactorContext(ownerId, kid),
}

/** A key of ENCRYPTION_KEYS, and what still needs it. */
export interface OldKey {
  key: string
  secrets: number
  /**
   * Stored outcomes of an `Idempotency-Key`: they are found only by this key, and expire within 24
   * h.
   */
  outcomes: number
  outcomesUntil: Date | null
  /** Whether nothing stored needs it any more. Tickets that it signed are not stored. */
  canBeRemoved: boolean
}

export interface KeyUse {
  /** The id of ENCRYPTION_KEY. */
  key: string
  oldKeys: OldKey[]
  /** Keys that sealed a secret, but that this process does not have. */
  missingKeys: { key: string; secrets: number }[]
}

export interface Resealed extends KeyUse {
  resealed: Record<rows.SecretTable, number>
  /** Secrets that cannot be opened although their key is present: they are damaged. */
  damaged: number
}

/**
 * Seals every secret under ENCRYPTION_KEY that is sealed under one of ENCRYPTION_KEYS. The service
 * may run meanwhile: secrets that are replaced or deleted in between are left alone. After an
 * interruption, call it again.
 */
export async function resealSecrets({ db, settings }: Pick<App, 'db' | 'settings'>): Promise<Resealed> {
  const oldIds = settings.ENCRYPTION_KEYS.map(keyIdOf)
  const resealed = rows.forEachTable(() => 0)
  let damaged = 0
  for (const table of rows.SECRET_TABLES) {
    for (let batch: rows.SealedRow[] | undefined; batch === undefined || batch.length === BATCH;) {
      batch = await rows.selectSealed(db.query, table, oldIds, batch?.at(-1), BATCH)
      for (const row of batch) {
        const sealed = sealAgain(settings, row, CONTEXTS[table](row))
        if (sealed === null) damaged++
        else if (await rows.replaceSealed(db.query, table, row, sealed)) resealed[table]++
      }
    }
  }
  return { resealed, damaged, ...(await findKeyUse(db.query, settings)) }
}

function sealAgain(keys: SealKeys, { sealed }: rows.SealedRow, context: string): Buffer | null {
  try {
    return seal(keys, unseal(keys, sealed, context), context)
  } catch {
    return null
  }
}

/** Which keys the stored data still needs. */
export async function findKeyUse(sql: Sql, keys: SealKeys): Promise<KeyUse> {
  const secrets = new Map((await rows.countSecrets(sql)).map((row) => [row.keyId, row.secrets]))
  const outcomes = new Map((await rows.countOutcomes(sql)).map((row) => [row.keyId, row]))
  const [key = '', ...oldIds] = allKeys(keys).map(keyIdOf)
  return {
    key,
    oldKeys: oldIds.map((id) => ({
      key: id,
      secrets: secrets.get(id) ?? 0,
      outcomes: outcomes.get(id)?.outcomes ?? 0,
      outcomesUntil: outcomes.get(id)?.until ?? null,
      canBeRemoved: !secrets.has(id) && !outcomes.has(id),
    })),
    missingKeys: missingOf(secrets, [key, ...oldIds]),
  }
}

/** Keys outside of `keys` that sealed a stored secret, which therefore cannot be opened. */
export const findMissingKeys = async (sql: Sql, keys: SealKeys): Promise<KeyUse['missingKeys']> =>
  missingOf(new Map((await rows.countSecrets(sql)).map((row) => [row.keyId, row.secrets])), allKeys(keys).map(keyIdOf))

const missingOf = (secrets: ReadonlyMap<string, number>, here: readonly string[]): KeyUse['missingKeys'] =>
  [...secrets].filter(([id]) => !here.includes(id)).map(([key, count]) => ({ key, secrets: count }))

/** The message to the operator about missing keys, in one line. */
export const missingKeysText = (missing: KeyUse['missingKeys']): string => {
  const count = missing.reduce((sum, { secrets }) => sum + secrets, 0)
  const ids = missing.map(({ key }) => key).join(', ')
  return (
    `ENCRYPTION_KEY: ${counted(count, 'stored secret is', 'stored secrets are')} sealed with other keys (${ids}): ` +
    'identities, webhooks, classifiers and guests that need them do not work: put those keys into ENCRYPTION_KEYS'
  )
}
