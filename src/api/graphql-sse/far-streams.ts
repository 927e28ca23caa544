import { randomUUID } from 'node:crypto'

import { CHANNELS, type Unsubscribe } from '../../core/bus.ts'
import { requireCaller } from '../../core/access.ts'
import { type App, perApp } from '../../core/app.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { ofRequester } from '../../core/queues/patience.ts'
import { sha256 } from '../../core/secrets/crypto.ts'
import { admitTenant } from '../../domains/tenants/tenants.ts'
import { toServiceError } from '../execution/errors.ts'
import { type Answer, type Asked, callerFrom, openMessage, type Reply, sealMessage } from './far-messages.ts'
import type { OperationRequest } from './sse-request.ts'

const TIMES = {
  /** How often a process asks. The bus may lose messages, and a stream may open just after. */
  againMs: 250,
  /** If no process answers for this long, none has the stream. */
  nobodyMs: 2000,
  /** How long to wait after a reply of the process that has it: that may be busy, or killed. */
  silentMs: 10_000,
}

/** After this long without a question, the writes of an operation are not sent: nobody waits. */
const GONE_MS = 5000
/** How long an operation is remembered after the last question for it. */
const REMEMBERED_MS = 90_000
/** The most operations and bytes of answers that one stream remembers. */
const MAX_REMEMBERED = 10_000
const MAX_REMEMBERED_BYTES = 1_048_576

type Perform = (ctx: Ctx, request: OperationRequest) => Promise<Answer>

/** An operation that another process has asked for, and what to reply. */
interface Known {
  reply: Reply
  askedAt: number
  timer: NodeJS.Timeout
}

/** The operations of one stream that other processes have asked for. */
interface Memory {
  known: Map<string, Known>
  bytes: number
}

/**
 * The streams of all processes. A balancer sends the operations of a shared connection to any
 * process: that asks the one which has the connection, over the bus, until it has the answer. An
 * operation runs once, and each question for it gets the same answer. Messages are sealed, because
 * they say who calls.
 */
export class FarStreams {
  readonly #app: App
  readonly #times: typeof TIMES
  readonly #own = randomUUID()
  readonly #waiting = new Map<string, (reply: Reply) => void>()
  #listening: Promise<Unsubscribe> | undefined

  constructor(app: App, times: Partial<typeof TIMES> = {}) {
    this.#app = app
    this.#times = { ...TIMES, ...times }
  }

  /** Lets other processes run operations on a stream of this one. The result ends that. */
  async serve(token: string, perform: Perform): Promise<Unsubscribe> {
    const memory: Memory = { known: new Map(), bytes: 0 }
    const channel = channelOf(token)
    const leave = await this.#app.bus.subscribe(channel, (message) => {
      const asked = openMessage(this.#app, channel, message) as Asked | null
      if (asked !== null) this.#answer(asked, memory, perform)
    })
    return () => {
      leave()
      for (const { timer } of memory.known.values()) clearTimeout(timer)
      memory.known.clear()
    }
  }

  /**
   * The answer of the process that has the stream; null where none has it. Throws `unavailable`
   * where that process falls silent: the operation may have run.
   */
  async ask(token: string, ctx: Ctx, request: OperationRequest): Promise<Answer | null> {
    await (this.#listening ??= this.#listen())
    const { tenant, actor, identity } = requireCaller(ctx)
    const { requestId, address } = ctx
    const sent = { requestId, address, tenantId: tenant.id, caller: { actor, identity }, request }
    const asked: Asked = { id: randomUUID(), from: this.#own }
    const send = (message: Asked): void => this.#publish(channelOf(token), message)
    const { againMs, nobodyMs, silentMs } = this.#times
    let again: NodeJS.Timeout | undefined
    let silence: NodeJS.Timeout | undefined
    try {
      return await new Promise((resolve, reject) => {
        again = setInterval(() => {
          if (ctx.app.isGone?.() === true) reject(unavailable())
          else send(asked)
        }, againMs)
        silence = setTimeout(resolve, nobodyMs, null)
        this.#waiting.set(asked.id, ({ isWanted, answer, refusal }) => {
          clearTimeout(silence)
          silence = setTimeout(reject, silentMs, unavailable())
          if (refusal !== undefined) reject(new ServiceError(refusal.code, refusal.extras))
          else if (answer !== undefined) resolve(answer)
          else if (isWanted === true) send({ ...asked, sent })
        })
        send(asked)
      })
    } finally {
      clearInterval(again)
      clearTimeout(silence)
      this.#waiting.delete(asked.id)
    }
  }

  #listen(): Promise<Unsubscribe> {
    const channel = CHANNELS.operationAnswers(this.#own)
    return this.#app.bus.subscribe(channel, (message) => {
      const reply = openMessage(this.#app, channel, message) as (Reply & { id: string }) | null
      if (reply !== null) this.#waiting.get(reply.id)?.(reply)
    })
  }

  #answer(asked: Asked, memory: Memory, perform: Perform): void {
    const { id, from, sent } = asked
    const send = (reply: Reply): void => this.#publish(CHANNELS.operationAnswers(from), { id, ...reply })
    const existing = memory.known.get(id)
    if (existing !== undefined) {
      existing.askedAt = performance.now()
      existing.timer.refresh()
      return send(existing.reply)
    }
    if (sent === undefined) return send({ isWanted: true })
    if (memory.known.size >= MAX_REMEMBERED || memory.bytes >= MAX_REMEMBERED_BYTES) {
      const { code, extras } = unavailable()
      return send({ refusal: { code, extras } })
    }
    const forget = (): void => {
      memory.known.delete(id)
      memory.bytes -= bytesOf(known.reply)
    }
    const known: Known = { reply: {}, askedAt: performance.now(), timer: setTimeout(forget, REMEMBERED_MS).unref() }
    memory.known.set(id, known)
    memory.bytes += bytesOf(known.reply)
    send(known.reply)
    void this.#run(sent, () => performance.now() - known.askedAt > GONE_MS, perform).then((reply) => {
      send(reply)
      // The stream may have ended.
      if (memory.known.get(id) !== known) return
      memory.bytes += bytesOf(reply) - bytesOf(known.reply)
      known.reply = reply
      known.timer.refresh()
    })
  }

  /** Runs an operation as a request of this process would. */
  async #run(sent: NonNullable<Asked['sent']>, isGone: () => boolean, perform: Perform): Promise<Reply> {
    const { requestId, address, tenantId, request } = sent
    try {
      const tenant = await admitTenant(this.#app, tenantId)
      const app = ofRequester(this.#app, tenantId, isGone)
      const caller = { tenant, ...callerFrom(sent.caller) }
      return { answer: await perform({ app, requestId, address, caller }, request) }
    } catch (error) {
      const { code, extras } = toServiceError(error, this.#app.log, { requestId })
      const { cause: _cause, ...shown } = extras
      return { refusal: { code, extras: shown } }
    }
  }

  #publish(channel: string, message: Asked | (Reply & { id: string })): void {
    this.#app.bus.publish(channel, sealMessage(this.#app, channel, message))
  }
}

const unavailable = (): ServiceError => new ServiceError('unavailable', { retryAfterSeconds: 1 })

const bytesOf = (reply: Reply): number => JSON.stringify(reply).length

/** The token itself opens the stream, so the bus does not show it. */
const channelOf = (token: string): string => CHANNELS.operations(sha256(token).toString('base64url'))

export const farStreamsOf = perApp((app) => new FarStreams(app))
