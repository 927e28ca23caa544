import { randomUUID } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'

import { CHANNELS, type Unsubscribe } from '../../core/bus.ts'
import { type App, type Caller, type Ctx, perApp, requireCaller } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import type { Id } from '../../core/ids.ts'
import { sha256 } from '../../core/secrets/crypto.ts'
import { seal, unseal } from '../../core/secrets/seals.ts'
import { admitTenant } from '../../domains/tenants/tenants.ts'
import { toServiceError } from '../execution/errors.ts'
import type { OperationRequest } from './sse-request.ts'

/** The answer to a request for an operation. Its results come on the stream. */
export interface Answer {
  status: number
  headers: Readonly<Record<string, string>>
  body: string | null
}

/** A request, on its way to the process that has its stream. */
interface Sent {
  id: string
  /** The process that waits for the answer. */
  from: string
  requestId: string
  address: string | null
  tenantId: Id
  caller: Pick<Caller, 'actor' | 'identity'>
  request: OperationRequest
}

/** What the process with the stream says: first that it has the request, then the answer. */
interface Said {
  id: string
  answer?: Answer
  refusal?: Pick<ServiceError, 'code' | 'extras'>
}

/** A stream may be opened a moment after its first operation: that is asked for again. */
const AGAIN_MS = 250
/** How long until nobody has a stream, and how long an answer may take after that. */
const NOBODY_MS = 2000
const ANSWER_MS = 10_000
/** The bus may double a message, if not much later. */
const DOUBLED_MS = 60_000

type Perform = (ctx: Ctx, request: OperationRequest) => Promise<Answer>

/**
 * The streams of all processes. A balancer sends the operations of a shared connection to any
 * process: that asks the one which has the connection, over the bus. Messages are sealed, because
 * they say who calls.
 */
export class FarStreams {
  readonly #app: App
  readonly #own = randomUUID()
  readonly #waiting = new Map<string, (said: Said) => void>()
  #listening: Promise<Unsubscribe> | undefined

  constructor(app: App) {
    this.#app = app
  }

  /** Lets other processes run operations on a stream of this one. The result ends that. */
  async serve(token: string, perform: Perform): Promise<Unsubscribe> {
    const known = new Set<string>()
    return this.#app.bus.subscribe(channelOf(token), (message) => {
      const sent = this.#open(message) as Sent
      if (known.has(sent.id)) return
      known.add(sent.id)
      setTimeout(() => known.delete(sent.id), DOUBLED_MS).unref()
      void this.#answer(sent, perform)
    })
  }

  /** The answer of the process that has the stream; null where none has it. */
  async ask(token: string, ctx: Ctx, request: OperationRequest): Promise<Answer | null> {
    this.#listening ??= this.#app.bus.subscribe(CHANNELS.operationAnswers(this.#own), (message) => {
      const said = this.#open(message) as Said
      this.#waiting.get(said.id)?.(said)
    })
    await this.#listening
    const { tenant, actor, identity } = requireCaller(ctx)
    const { requestId, address } = ctx
    const id = randomUUID()
    const caller = { actor, identity }
    const sent: Sent = { id, from: this.#own, requestId, address, tenantId: tenant.id, caller, request }
    const message = this.#seal(sent)
    const send = (): void => this.#app.bus.publish(channelOf(token), message)
    let timers: NodeJS.Timeout[] = []
    const stop = (): void => timers.splice(0).forEach((timer) => clearTimeout(timer))
    try {
      return await new Promise((resolve, reject) => {
        timers = [setInterval(send, AGAIN_MS), setTimeout(resolve, NOBODY_MS, null)]
        this.#waiting.set(id, ({ answer, refusal }) => {
          stop()
          if (refusal !== undefined) reject(new ServiceError(refusal.code, refusal.extras))
          else if (answer !== undefined) resolve(answer)
          else timers = [setTimeout(reject, ANSWER_MS, new ServiceError('unavailable', { retryAfterSeconds: 1 }))]
        })
        send()
      })
    } finally {
      stop()
      this.#waiting.delete(id)
    }
  }

  async #answer(sent: Sent, perform: Perform): Promise<void> {
    const { id, from, requestId, address, tenantId, caller, request } = sent
    const app = this.#app
    const say = (said: Omit<Said, 'id'>): void =>
      app.bus.publish(CHANNELS.operationAnswers(from), this.#seal({ id, ...said }))
    say({})
    try {
      const tenant = await admitTenant(app, tenantId)
      say({ answer: await perform({ app, requestId, address, caller: { tenant, ...caller } }, request) })
    } catch (error) {
      const { code, extras } = toServiceError(error, app.log, { requestId })
      const { cause: _cause, ...shown } = extras
      say({ refusal: { code, extras: shown } })
    }
  }

  #seal(message: Sent | Said): string {
    return seal(this.#app.settings, serialize(message).toString('base64'), SEALED).toString('base64')
  }

  #open(message: string): unknown {
    const opened = unseal(this.#app.settings, Buffer.from(message, 'base64'), SEALED)
    return deserialize(Buffer.from(opened, 'base64'))
  }
}

const SEALED = 'graphql-sse operation'

/** The token itself opens the stream, so the bus does not show it. */
const channelOf = (token: string): string => CHANNELS.operations(sha256(token).toString('base64url'))

export const farStreamsOf = perApp((app) => new FarStreams(app))
