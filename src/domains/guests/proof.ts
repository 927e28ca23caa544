import { createHmac, timingSafeEqual } from 'node:crypto'

import { type Challenge, createChallenge, type Payload, randomInt, verifySolution } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'

import { type App, perApp } from '../../core/app.ts'
import { ServiceError } from '../../core/errors.ts'
import { type DerivedKey, deriveKeys } from '../../core/secrets/seals.ts'
import type { Site } from '../sites/sites.ts'

/**
 * What a proof costs a browser while a site is calm: up to `counter` keys of `cost` iterations,
 * which is a second of one slow core. Making a challenge costs one such key. Tests lower `counter`.
 */
export const DIFFICULTY = { algorithm: 'PBKDF2/SHA-256', cost: 1000, counter: 3000 }

/** Seconds in which a challenge can be solved and sent. */
const TTL_SECONDS = 600

/**
 * Accepted proofs of a site that change nothing: each 16 beyond one in ten seconds double the work,
 * to 16 times of it. Challenges and wrong proofs do not count: they cost nothing, and would make it
 * hard for everybody.
 */
const CALM = { perSecond: 0.1, burst: 64 }
const STEP = 16

/** A proof is forgotten after its challenge has expired. */
const ONCE = { perSecond: 1 / (2 * TTL_SECONDS), burst: 1 }

const keysOf = perApp(({ settings }) => deriveKeys(settings, 'guest challenge'))

const secretsOf = ({ key }: DerivedKey): { hmacSignatureSecret: string; hmacKeySignatureSecret: string } => {
  const secret = key.toString('hex')
  return { hmacSignatureSecret: secret, hmacKeySignatureSecret: `${secret} key` }
}

/**
 * A challenge for a page of the site, as ALTCHA has it: the harder, the more proofs were accepted.
 * It is signed here: the library signs by Web Crypto, which costs two thirds of what the key does.
 */
export async function makeChallenge(app: App, { id }: Site): Promise<Challenge> {
  const [key] = keysOf(app)
  const { hmacSignatureSecret, hmacKeySignatureSecret } = secretsOf(key)
  let keySignature = ''
  const { remaining } = app.limits.take('guestChallenge', id, CALM, 0)
  const most = DIFFICULTY.counter * 2 ** Math.floor((CALM.burst - Math.max(0, remaining)) / STEP)
  const unsigned = await createChallenge({
    algorithm: DIFFICULTY.algorithm,
    cost: DIFFICULTY.cost,
    counter: randomInt(most, Math.ceil(most / 2)),
    deriveKey: async (...how) => {
      const derived = await deriveKey(...how)
      keySignature = hmacOf(hmacKeySignatureSecret, derived.derivedKey)
      return derived
    },
    expiresAt: Math.floor(Date.now() / 1000) + TTL_SECONDS,
    data: { site: id, key: key.id },
  })
  // The signature is of the JSON with its members in the order of their names.
  const { nonce, salt, ...rest } = unsigned.parameters
  const parameters = { ...rest, keySignature, nonce, salt }
  return { parameters, signature: hmacOf(hmacSignatureSecret, JSON.stringify(parameters)) }
}

const hmacOf = (secret: string, data: string | Uint8Array): string =>
  createHmac('sha256', secret).update(data).digest('hex')

/** As ALTCHA's clients write one, with room to spare. */
const MAX_PROOF_LENGTH = 2048

/**
 * Checks a solved challenge of the site, without a query, and the cheapest first: size, form and
 * expiry, then an HMAC of the solution and one of the challenge. Returns what `spendProof` takes.
 * Throws `invalid_proof`.
 */
export async function checkProof(app: App, { id }: Site, proof: unknown): Promise<string> {
  const payload = readProof(proof)
  const { parameters, signature = '' } = payload.challenge
  const { data, expiresAt = 0 } = parameters
  const key = keysOf(app).find((each) => each.id === data?.['key'])
  if (key === undefined || data?.['site'] !== id) throw wrong()
  if (expiresAt * 1000 < Date.now()) throw new ServiceError('invalid_proof', { detail: 'The challenge has expired.' })
  // Not the payload itself: its other members would be options of the check.
  const { challenge, solution } = payload
  const secrets = secretsOf(key)
  // `verifySolution` checks this too, by Web Crypto, which costs more than the rest of a refusal.
  const solved = hmacOf(secrets.hmacKeySignatureSecret, Buffer.from(solution.derivedKey, 'hex'))
  if (!timingSafeEqual(Buffer.from(solved), Buffer.from(parameters.keySignature ?? ''))) throw wrong()
  const { verified } = await verifySolution({ challenge, solution, deriveKey, ...secrets })
  if (!verified) throw wrong()
  return signature
}

const wrong = (): ServiceError => new ServiceError('invalid_proof')

function readProof(proof: unknown): Payload {
  if (typeof proof !== 'string' || proof.length > MAX_PROOF_LENGTH || !/^[\w+/-]+={0,2}$/.test(proof)) throw wrong()
  let payload: unknown
  try {
    payload = JSON.parse(Buffer.from(proof, 'base64').toString('utf8'))
  } catch {
    throw wrong()
  }
  if (!isPayload(payload)) throw wrong()
  return payload
}

type Unread = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Unread =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Only what this service has made: nothing is derived again from what a caller sends. */
function isPayload(value: unknown): value is Payload {
  if (!isObject(value) || !isObject(value['challenge']) || !isObject(value['solution'])) return false
  const { parameters, signature } = value['challenge']
  const { counter, derivedKey } = value['solution']
  if (!isObject(parameters) || !isObject(parameters['data'])) return false
  const texts = [signature, derivedKey, parameters['keySignature']]
  return (
    texts.every((text) => typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)) &&
    typeof counter === 'number' &&
    typeof parameters['expiresAt'] === 'number'
  )
}

/**
 * Spends a proof: over all processes with Redis, else in each process. Throws `invalid_proof` for a
 * spent one.
 */
export async function spendProof({ limits }: App, { id }: Site, signature: string): Promise<void> {
  const { isAllowed } = await limits.takeExactly('guestProof', signature, ONCE)
  if (!isAllowed) throw new ServiceError('invalid_proof', { detail: 'The proof was used before.' })
  limits.charge('guestChallenge', id, CALM, 1)
}
