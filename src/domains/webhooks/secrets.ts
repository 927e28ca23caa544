import { createHmac } from 'node:crypto'

import { randomHex } from '../../core/crypto.ts'
import type { Id } from '../../core/ids.ts'
import { seal, type SealKeys, unseal } from '../../core/seals.ts'

/** A secret that signs deliveries to one endpoint. */
export interface SigningSecret {
  kid: string
  secret: string
}

/** `whs_` and 64 hex characters; its key id is 8 hex characters. */
export const newSigningSecret = (): SigningSecret => ({ kid: randomHex(4), secret: `whs_${randomHex(32)}` })

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

/** The value of the signature header for `body`, sent at `at` (docs/guides/webhooks.md). */
export function signatureOf({ kid, secret }: SigningSecret, at: Date, body: string): string {
  const v1 = createHmac('sha256', secret).update(`${at.toISOString()}.`).update(body).digest('hex')
  return `t=${Math.floor(at.getTime() / 1000)},v1=${v1},kid=${kid}`
}

interface SignedRequest {
  prefix: string
  event: string
  deliveryId: Id
  idempotencyKey: string
  /** Whether it is a requested example. */
  isTest?: boolean
}

export const USER_AGENT = 'engagement-service-webhooks/1'

/** The headers of a delivery that all attempts share. */
export const lastingHeaders = ({
  prefix,
  event,
  deliveryId,
  idempotencyKey,
  isTest = false,
}: SignedRequest): Record<string, string> => ({
  'Content-Type': 'application/json',
  'User-Agent': USER_AGENT,
  [`${prefix}Event`]: event,
  [`${prefix}Delivery-Id`]: deliveryId,
  [`${prefix}Idempotency-Key`]: idempotencyKey,
  ...(isTest ? { [`${prefix}Test`]: 'true' } : {}),
})

/**
 * All headers of one attempt, signed with the first of `secrets`. A second one is the secret from
 * before a rotation, which signs too while it is valid.
 */
export function signedHeaders(request: SignedRequest, secrets: readonly SigningSecret[], at: Date, body: string) {
  const [current, previous] = secrets
  if (current === undefined) throw new Error('the endpoint has no secret')
  const { prefix } = request
  return {
    ...lastingHeaders(request),
    [`${prefix}Timestamp`]: at.toISOString(),
    [`${prefix}Signature`]: signatureOf(current, at, body),
    ...(previous === undefined ? {} : { [`${prefix}Signature-Previous`]: signatureOf(previous, at, body) }),
  }
}
