import type { App } from '../../core/app.ts'
import type { Caller } from '../../core/caller.ts'
import { isCapability } from '../../core/capabilities.ts'
import type { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { seal, unseal } from '../../core/secrets/seals.ts'
import type { OperationRequest } from './sse-request.ts'

/** The answer to a request for an operation. Its results come on the stream. */
export interface Answer {
  status: number
  headers: Readonly<Record<string, string>>
  body: string | null
}

/** Asks the process that has a stream for the answer to an operation. */
export interface Asked {
  id: string
  /** The process that waits for the answer. */
  from: string
  /** Sent once the other process wants it: only one of all processes has the stream. */
  sent?: Sent
}

/** An operation, and who calls. */
interface Sent {
  requestId: string
  address: string | null
  tenantId: Id
  caller: Pick<Caller, 'actor' | 'identity'>
  request: OperationRequest
}

/**
 * What the process with the stream says of an operation: that it wants it, has its answer, refuses
 * it, or none of these while it runs.
 */
export interface Reply {
  isWanted?: true
  answer?: Answer
  refusal?: Pick<ServiceError, 'code' | 'extras'>
}

const SEALED = 'graphql-sse operation'
/**
 * An older message does not count. The clocks of two hosts may differ by as much. A process
 * remembers operations for longer, so that no old message runs one again.
 */
const VALID_MS = 30_000

/** A message that only the processes of this service can read, and only on this channel. */
export const sealMessage = ({ settings }: App, channel: string, message: object): string =>
  seal(settings, JSON.stringify({ at: Date.now(), message }, toJson), `${SEALED} ${channel}`).toString('base64')

/**
 * The message; null if it is too old, or if this process cannot open it: it may be of another
 * channel, or sealed by a key that only the other process has.
 */
export function openMessage({ settings, log }: App, channel: string, sealed: string): unknown {
  try {
    const opened = unseal(settings, Buffer.from(sealed, 'base64'), `${SEALED} ${channel}`)
    const { at, message } = JSON.parse(opened) as { at: number; message: unknown }
    return Math.abs(Date.now() - at) > VALID_MS ? null : message
  } catch (err) {
    log.warn({ err }, 'a message of another process cannot be opened')
    return null
  }
}

const toJson = (_name: string, value: unknown): unknown => (value instanceof Set ? [...value] : value)

/** A caller that came as JSON, in which dates are texts and capabilities a list. */
export function callerFrom({ actor, identity }: Sent['caller']): Sent['caller'] {
  const expiresAt = actor.expiresAt && new Date(actor.expiresAt)
  const capabilities = 'capabilities' in actor ? new Set([...actor.capabilities].filter(isCapability)) : undefined
  return {
    actor: { ...actor, expiresAt, ...(capabilities && { capabilities }) } as Caller['actor'],
    identity: identity && { ...identity, issuedAt: new Date(identity.issuedAt) },
  }
}
