// The receiver's side of webhooks, for backends that take them: `import { verifyWebhook } from
// 'engagement-service/webhooks'`. It needs nothing but Node.
import { createHmac, timingSafeEqual } from 'node:crypto'

import type { CommonEvent } from './events.ts'

export type { Actor, Comment, CommonEvent, Discussion, Reaction, Reader } from './events.ts'

/** The ownership handshake: answer 200 with `{"challenge": …}` as JSON. */
export interface Verification {
  type: 'verification'
  challenge: string
  timestamp: string
}

/** What a receiver gets; `type` says which. */
export type WebhookEvent = CommonEvent | Verification

export type Reason = 'missing_header' | 'malformed_header' | 'outside_tolerance' | 'wrong_signature' | 'malformed_body'

/** The request is not genuine: answer 401 (400 for `malformed_body`), and do nothing else. */
export class WebhookVerificationError extends Error {
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.name = 'WebhookVerificationError'
    this.reason = reason
  }
}

export interface VerifyOptions {
  /** How far the timestamp may differ from now, either way; 300 by default. */
  toleranceSeconds?: number
  /**
   * The prefix of the service's header names, if it has another one (`HEADER_PREFIX`); `X-Service-`
   * by default.
   */
  prefix?: string
  /** Now, by default. */
  now?: Date
}

/** In the form of Node, Express and Fastify, or of fetch. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** The received bytes, or their text. */
export type WebhookBody = string | Uint8Array | ArrayBuffer

/**
 * The event in a genuine request. `rawBody` must be the received bytes, never parsed and serialised
 * again. `secrets` are the endpoint's, as `secret` or `standardSecret` of the API: after a rotation
 * the new and the old one, in any order. For 24 h a second header has the old secret's signature,
 * so that secrets can be exchanged here at any time in between. Takes the same time whichever byte
 * of a signature is wrong. Throws a WebhookVerificationError, and a TypeError for an argument of
 * the wrong type.
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  rawBody: WebhookBody,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): WebhookEvent {
  const event = genuineBody('verifyWebhook', headers, rawBody, secrets, options)
  if (!('type' in event)) throw new WebhookVerificationError('malformed_body', 'the body is not an event')
  return event as WebhookEvent
}

/** A mail to send to somebody who wants to write as a guest. */
export interface GuestMail {
  email: string
  /** A stranger's text. */
  name: string
  /** The link that confirms the address. */
  url: string
}

/**
 * The mail in a genuine request for a mailer (the setting `guests.mailUrl`). `secrets` are those of
 * `/mail-secrets`. It is as `verifyWebhook` otherwise.
 */
export function verifyGuestMail(
  headers: WebhookHeaders,
  rawBody: WebhookBody,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): GuestMail {
  const { email, name, url } = genuineBody('verifyGuestMail', headers, rawBody, secrets, options) as Partial<GuestMail>
  if (typeof email === 'string' && typeof name === 'string' && typeof url === 'string') return { email, name, url }
  throw new WebhookVerificationError('malformed_body', 'the body is not a mail for a guest')
}

/** What a genuine request has in its body. */
function genuineBody(
  caller: string,
  headers: WebhookHeaders,
  rawBody: WebhookBody,
  secrets: string | readonly string[],
  options: VerifyOptions,
): object {
  requireArguments(caller, headers, rawBody, secrets, options)
  const { toleranceSeconds = 300, prefix = 'X-Service-', now = new Date() } = options
  const known = [secrets].flat().map(keyIn)
  const bytes = bytesOf(rawBody)
  const timestamp = required(headers, `${prefix}Timestamp`)
  const seconds = secondsOf(timestamp)
  if (!(Math.abs(now.getTime() - Date.parse(timestamp)) <= toleranceSeconds * 1000)) {
    throw new WebhookVerificationError('outside_tolerance', `the timestamp ${timestamp} is too far from now`)
  }
  const previous = find(headers, `${prefix}Signature-Previous`)
  const given = [required(headers, `${prefix}Signature`), ...(previous === undefined ? [] : [previous])]
  const signatures = given.map((text) => signatureIn(text, seconds))
  const expected = known.map((secret) => createHmac('sha256', secret).update(`${timestamp}.`).update(bytes).digest())
  // Every pair is compared, so that the time does not reveal which one matches.
  const matches = signatures.flatMap((signature) => expected.map((each) => timingSafeEqual(signature, each)))
  if (!matches.includes(true)) throw new WebhookVerificationError('wrong_signature', WRONG)
  return objectIn(bytes)
}

const WRONG = 'it is signed with another secret, or the body is not the bytes as they came'

/**
 * The key in a secret. One read from a file ends with a line end, and the API answers the one for
 * libraries of Standard Webhooks beside it: with either, all signatures would be wrong.
 */
function keyIn(secret: string): string {
  const text = secret.trim()
  return text.startsWith('whsec_') ? `whs_${Buffer.from(text.slice(6), 'base64').toString('hex')}` : text
}

/** Says what each argument takes: Node's own errors name parts that the caller never wrote. */
function requireArguments(
  caller: string,
  headers: unknown,
  rawBody: unknown,
  secrets: unknown,
  options: unknown,
): void {
  const require = (holds: boolean, rule: string, given: unknown): void => {
    if (!holds) throw new TypeError(`${caller}: ${rule}, not ${kindOf(given)}`)
  }
  const isText = (value: unknown): value is string => typeof value === 'string'
  const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
  require(isObject(headers) &&
    !Array.isArray(headers), 'headers must be an object of names and values, or the Headers of fetch', headers)
  require(isText(rawBody) ||
    ArrayBuffer.isView(rawBody) ||
    isBuffer(
      rawBody,
    ), 'rawBody must be the received bytes, unparsed: a string, Buffer, Uint8Array or ArrayBuffer', rawBody)
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets]
  // Everybody can sign with the key of a secret that has nothing behind its prefix.
  const isSecret = (value: unknown): boolean => isText(value) && !/^(whs_)?$/.test(keyIn(value))
  require(list.length > 0 &&
    list.every(
      isSecret,
    ), "secrets must be the endpoint's secret or a list of secrets, each a string that is not empty", list.length === 0
    ? secrets
    : list.filter((each) => !isSecret(each)).map((each) => (isText(each) ? '' : each))[0])
  require(isObject(options), 'options must be an object', options)
  const { toleranceSeconds = 0, prefix = '', now = new Date() } = options as Record<keyof VerifyOptions, unknown>
  const isTolerance = typeof toleranceSeconds === 'number' && toleranceSeconds >= 0
  require(isTolerance, 'toleranceSeconds must be a number of at least 0', toleranceSeconds)
  require(isText(prefix), 'prefix must be a string', prefix)
  require(now instanceof Date && !Number.isNaN(now.getTime()), 'now must be a valid Date', now)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (value === '') return 'an empty string'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'number') return String(value)
  return typeof value === 'object' ? `an object (${value.constructor?.name ?? 'Object'})` : typeof value
}

/** By its tag: an ArrayBuffer of another realm, as workers have, is no instance of ours. */
const isBuffer = (value: unknown): value is ArrayBuffer =>
  /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value))

function bytesOf(rawBody: WebhookBody): string | Uint8Array {
  if (typeof rawBody === 'string') return rawBody
  // Other views have bytes too, such as a DataView.
  return ArrayBuffer.isView(rawBody)
    ? new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
    : new Uint8Array(rawBody)
}

/** By its method: frameworks and libraries bring Headers of their own. */
const isHeaders = (headers: WebhookHeaders): headers is Headers => typeof headers.get === 'function'

function find(headers: WebhookHeaders, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1]
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

function required(headers: WebhookHeaders, name: string): string {
  const value = find(headers, name)
  if (value === undefined) throw new WebhookVerificationError('missing_header', `there is no ${name}`)
  return value
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const SIGNATURE = /^t=(\d{1,12}),v1=([0-9a-f]{64}),kid=[0-9a-f]{8}$/

function secondsOf(timestamp: string): number {
  const at = INSTANT.test(timestamp) ? Date.parse(timestamp) : NaN
  if (Number.isNaN(at)) throw new WebhookVerificationError('malformed_header', 'the timestamp is no instant')
  return Math.floor(at / 1000)
}

function signatureIn(text: string, seconds: number): Buffer {
  const [, t, v1] = SIGNATURE.exec(text) ?? []
  if (v1 === undefined || Number(t) !== seconds) {
    throw new WebhookVerificationError(
      'malformed_header',
      'the signature is not of the form t=…,v1=…,kid=… for its timestamp',
    )
  }
  return Buffer.from(v1, 'hex')
}

function objectIn(rawBody: string | Uint8Array): object {
  try {
    const body: unknown = JSON.parse(typeof rawBody === 'string' ? rawBody : Buffer.from(rawBody).toString('utf8'))
    // The signature proves the content.
    if (typeof body === 'object' && body !== null) return body
  } catch {
    // Reported below.
  }
  throw new WebhookVerificationError('malformed_body', 'the body is not an event')
}
