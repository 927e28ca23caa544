import { randomHex } from './crypto.ts'
import type { Id } from '../ids.ts'
import { seal, type SealKeys, unseal } from './seals.ts'

/** A secret that signs deliveries to one endpoint. */
export interface SigningSecret {
  kid: string
  secret: string
}

/** `whs_` and 64 hex characters; its key id is 8 hex characters. */
export const newSigningSecret = (): SigningSecret => ({ kid: randomHex(4), secret: `whs_${randomHex(32)}` })

/** The 32 bytes that the hex of a secret stands for: the key of Standard Webhooks. */
export const standardKey = ({ secret }: Pick<SigningSecret, 'secret'>): Buffer =>
  Buffer.from(secret.slice('whs_'.length), 'hex')

/** The secret as libraries of Standard Webhooks take it: `whsec_` and base64. */
const standardSecretOf = (signing: SigningSecret): string => `whsec_${standardKey(signing).toString('base64')}`

/** What is shown of a new secret, once. */
export interface ShownSecret extends SigningSecret {
  standardSecret: string
}

export const shownOf = (signing: SigningSecret): ShownSecret => ({
  ...signing,
  standardSecret: standardSecretOf(signing),
})

export interface SealedSecret {
  kid: string
  /** In base64. */
  sealed: string
}

/** `ownerId`: the endpoint, or the tenant of the classifier. */
export const signingSecretContext = (ownerId: Id, kid: string): string => `webhook:${ownerId}:${kid}`

export const sealSecret = (keys: SealKeys, ownerId: Id, { kid, secret }: SigningSecret): Buffer<ArrayBuffer> =>
  seal(keys, secret, signingSecretContext(ownerId, kid))

/**
 * Opens results of `sealSecret`, in base64. Null if one cannot be opened, because its key is
 * missing.
 */
export function openSecrets(
  keys: SealKeys,
  ownerId: Id,
  sealed: readonly SealedSecret[] | null,
): SigningSecret[] | null {
  if (sealed === null || sealed.length === 0) return null
  try {
    return sealed.map(({ kid, sealed: text }) => ({
      kid,
      secret: unseal(keys, Buffer.from(text, 'base64'), signingSecretContext(ownerId, kid)),
    }))
  } catch {
    return null
  }
}
