import { readFileSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'

import fc from 'fast-check'
import { buildSchema, parse } from 'graphql'
import { afterEach, describe, expect, test, vi } from 'vitest'

import { costOf } from '../../src/api/execution/cost.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { ROOT } from '../../src/core/process/root.ts'
import type { App } from '../../src/core/app.ts'
import type { Caller } from '../../src/core/caller.ts'
import type { Capability } from '../../src/core/capabilities.ts'
import type { Ctx } from '../../src/core/context.ts'
import { ServiceError } from '../../src/core/errors.ts'
import type { Id } from '../../src/core/ids.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { Batch } from '../../src/live/streams/batch.ts'
import { type Frame, frameOf } from '../../src/live/streams/frames.ts'
import type { CutReason } from '../../src/live/metrics.ts'
import type { Sink } from '../../src/live/seat.ts'
import { SourceStream } from '../../src/live/source-stream.ts'
import { Subscriber } from '../../src/api/graphql-sse/subscriber.ts'
import { Subscription } from '../../src/api/graphql-sse/subscription.ts'
import { Subscriptions } from '../../src/api/graphql-sse/subscriptions.ts'
import type { SharedOperation } from '../../src/api/yoga/operations.ts'
import { executeMasked } from '../harness/execute.ts'
import { SILENT } from '../harness/log.ts'

const app = { settings: {}, log: SILENT } as App

interface CallerOf {
  tenantId?: Id
  capabilities?: Capability[]
  externalId?: string
  isAdmin?: boolean
}

function ctxOf({ tenantId = 't', capabilities = [], externalId, isAdmin = false }: CallerOf = {}): Ctx {
  const caller: Caller = {
    tenant: {
      id: tenantId,
      slug: tenantId,
      settings: tenantSettings({}),
      discussionsDeleted: 0,
      suspendedAt: null,
      suspensionReason: null,
      mailSecretUntil: null,
    },
    actor: isAdmin
      ? {
          kind: 'admin',
          id: 'a',
          signInId: 'a',
          email: 'a@example.com',
          name: null,
          role: 'owner',
          accountId: null,
          lacksSecondFactor: false,
          capabilities: new Set(capabilities),
          expiresAt: new Date(),
        }
      : { kind: 'key', id: 'k', capabilities: new Set(capabilities), expiresAt: null },
    identity:
      externalId === undefined
        ? null
        : { externalId, issuedAt: new Date(), name: null, avatarUrl: null, profileUrl: null, badges: null },
  }
  return { app, requestId: 'r', address: null, caller }
}

const frame = (seq: number, padding = ''): Frame =>
  frameOf({
    seq,
    type: 'comment_created',
    audience: 'public',
    recipientId: null,
    json: `{"seq":${seq},"data":{"commentId":"comment-${seq}"},"padding":"${padding}"}`,
  })
const batch = (...seqs: number[]): Batch => new Batch(seqs.map((seq) => frame(seq)))
const newSource = (): SourceStream => new SourceStream({ idleMs: 1000, onOverflow: () => undefined })

const testSchema = buildSchema('type Query { n: Int } type Subscription { event: Event } type Event { seq: Int }')
const EVENT = testSchema.getSubscriptionType()?.getFields().event
const SEQ = (
  testSchema.getType('Event') as unknown as { getFields(): Record<string, { resolve?: unknown }> }
).getFields().seq

type Resolve = (frame: Frame, args: unknown, ctx: Ctx) => unknown

/** A subscription whose `seq` is answered so. */
function subscriptionWith(resolve: Resolve): Subscription {
  if (EVENT === undefined || SEQ === undefined) throw new Error('the schema has lost its fields')
  EVENT.resolve = (event: Frame) => event
  SEQ.resolve = resolve
  return new Subscription(
    { schema: testSchema, document: parse('subscription { event { seq } }'), execute: executeMasked },
    ctxOf(),
  )
}

/** A subscription whose answers are so long. */
function longAnswers(length: number): { subscription: Subscription; answers: () => number } {
  let answers = 0
  subscriptionWith(() => ++answers)
  const document = parse(`subscription { event { ${'s'.repeat(length)}: seq } }`)
  return {
    subscription: new Subscription({ schema: testSchema, document, execute: executeMasked }, ctxOf()),
    answers: () => answers,
  }
}

interface Client {
  sink: Sink
  subscriber: Subscriber
  source: SourceStream
  cuts: CutReason[]
  /** The events that were written. */
  payloads(): { data: { event: { seq: number } | null } | null; errors?: { extensions: { code: string } }[] }[]
  seqs(): (number | undefined)[]
  /** Whether the client takes what is written. */
  isReading: boolean
  /** Takes what was written meanwhile, and all that comes. */
  read(): void
}

/** A subscriber on a fake socket. */
function clientOf(subscription: Subscription): Client {
  const request = new IncomingMessage(new Socket())
  request.httpVersionMajor = 1
  request.httpVersionMinor = 1
  const response = new ServerResponse(request)
  const socket = new Socket()
  let text = ''
  const client: Partial<Client> & { isReading: boolean } = { isReading: true }
  let held = (): void => undefined
  socket._write = (chunk: Buffer, _encoding, done) => {
    const take = (): void => {
      text += chunk.toString()
      done()
    }
    if (client.isReading) take()
    else held = take
  }
  const read = (): void => {
    client.isReading = true
    held()
  }
  socket._writev = null as never
  response.assignSocket(socket)
  const source = newSource()
  const cuts: CutReason[] = []
  const subscriber = new Subscriber(
    response,
    { source, subscription },
    { heartbeatMs: 1000, onCut: (cut) => cuts.push(cut) },
  )
  source.sit({
    start: (sink) => void (client.sink = sink),
    leave: () => undefined,
  })
  subscriber.open({})
  const payloads: Client['payloads'] = () =>
    [...text.matchAll(/event: next\ndata: (.*)\n\n/g)].map(([, json]) => JSON.parse(json ?? ''))
  const seqs = () => payloads().map(({ data }) => data?.event?.seq)
  return Object.assign(client as Client, { subscriber, source, cuts, payloads, seqs, read })
}

afterEach(() => {
  vi.useRealTimers()
})

describe('subscribers of one subscription', () => {
  test('have each event executed and encoded once, with a context for all that come together', () => {
    const seen: { seq: number; ctx: Ctx }[] = []
    const subscription = subscriptionWith(({ seq }, _args, ctx) => {
      seen.push({ seq, ctx })
      return seq
    })
    const clients = [clientOf(subscription), clientOf(subscription)]
    for (const live of [batch(1), batch(2, 3)]) {
      expect(subscription.piecesFor(live)).toBe(subscription.piecesFor(live))
      for (const { sink } of clients) sink.deliver(live)
    }
    for (const client of clients) expect(client.seqs()).toEqual([1, 2, 3])
    expect(seen.map(({ seq }) => seq)).toEqual([1, 2, 3])
    expect(seen.map(({ ctx }) => ctx === seen[2]?.ctx)).toEqual([false, true, true])
  })

  test('who return at the same time get the same answers replayed; a later one gets new ones', () => {
    vi.useFakeTimers()
    let executions = 0
    const subscription = subscriptionWith(({ seq }) => {
      executions++
      return seq
    })
    const past = [frame(1), frame(2)]
    for (let n = 0; n < 50; n++) {
      const client = clientOf(subscription)
      client.sink.deliver(new Batch(past))
      expect(client.seqs()).toEqual([1, 2])
    }
    expect(executions).toBe(2)
    vi.advanceTimersByTime(300)
    clientOf(subscription).sink.deliver(new Batch(past))
    expect(executions).toBe(4)
  })

  test('get no answer that was read before a later event about the same comment', () => {
    let executions = 0
    const subscription = subscriptionWith(({ seq }) => {
      executions++
      return seq
    })
    const about = (seq: number, commentId: string): Frame => ({
      ...frame(seq),
      json: JSON.stringify({ seq, data: { commentId } }),
    })
    const past = [about(1, 'a'), about(2, 'b'), about(3, 'a')]
    clientOf(subscription).sink.deliver(new Batch(past))
    expect(executions).toBe(3)
    // The first is answered again, the second is kept.
    for (const _ of [1, 2]) clientOf(subscription).sink.deliver(new Batch(past.slice()))
    expect(executions).toBe(4)
  })

  test('get every event once and in order, however long each takes, whenever they join and leave', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -3, max: 12 }), { minLength: 5, maxLength: 40 }),
        fc.array(fc.record({ from: fc.nat(30), upTo: fc.nat(60), behind: fc.nat(5) }), { minLength: 1, maxLength: 8 }),
        async (latencies, stays) => {
          // What takes no time is answered at once, among what does.
          const subscription = subscriptionWith(({ seq }) => {
            const ms = latencies[seq - 1] ?? 0
            return ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms, seq)) : seq
          })
          const frames = latencies.map((_, index) => frame(index + 1))
          const here = new Map<(typeof stays)[number], { client: Client; first: number }>()
          const gone: { client: Client; last: number; first: number }[] = []
          for (const live of frames.map((one) => new Batch([one]))) {
            const seq = live.frames[0]?.seq ?? 0
            for (const stay of stays) {
              if (stay.from === seq) {
                const client = clientOf(subscription)
                const first = Math.max(1, seq - stay.behind)
                here.set(stay, { client, first })
                const missed = frames.slice(first - 1, seq - 1)
                if (missed.length > 0) client.sink.deliver(new Batch(missed))
              }
              const stayed = here.get(stay)
              if (stay.upTo === seq && stayed !== undefined) {
                stayed.client.subscriber.end()
                gone.push({ ...stayed, last: seq - 1 })
                here.delete(stay)
              }
            }
            for (const { client } of here.values()) client.sink.deliver(live)
            if (seq % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 2))
          }
          await Promise.all([...here.values()].map(({ client }) => client.sink.ready()))
          for (const { client, first } of here.values()) {
            expect(client.seqs()).toEqual(frames.slice(first - 1).map(({ seq }) => seq))
          }
          for (const { client, first, last } of gone) {
            const seqs = client.seqs()
            expect(seqs).toEqual(frames.slice(first - 1, first - 1 + seqs.length).map(({ seq }) => seq))
            expect(first + seqs.length - 1).toBeLessThanOrEqual(last)
          }
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('answers with as many values as a page', () => {
  /** A subscriber with a client token, whose bucket has so many tokens. */
  const browser = (id: string, tokens: Record<string, number>, burst = 200): Ctx => {
    const ctx = ctxOf()
    const take = (_kind: string, name: string, _rate: unknown, count: number) => {
      const left = tokens[name] ?? 0
      if (left >= 1) tokens[name] = left - count
      return { isAllowed: left >= 1, remaining: Math.max(0, left) }
    }
    const charge = (_kind: string, name: string, _rate: unknown, count: number): void => {
      tokens[name] = (tokens[name] ?? 0) - count
    }
    const settings = { UNAUTHENTICATED_RATE_PER_SECOND: 1, UNAUTHENTICATED_RATE_BURST: 1 }
    const actor = { kind: 'client', id, readerId: null, minterId: 'k', discussions: null, expiresAt: new Date() }
    const tenant = { ...ctx.caller?.tenant, settings: tenantSettings({ clientToken: { burst } }) }
    const caller = { ...ctx.caller, tenant, actor } as Caller
    return { ...ctx, app: { ...app, settings, limits: { take, charge } } as unknown as App, address: 'here', caller }
  }
  const tokensOf = (own: Record<string, number>, address = 1000): Record<string, number> => ({
    ...Object.fromEntries(Object.entries(own).map(([id, count]) => [`t/${id}`, count])),
    't/address/here': address,
  })
  /** `values`: how many an answer has. */
  const open = (values: number) => {
    const seen: Ctx[] = []
    subscriptionWith(({ seq }, _args, ctx) => (seen.push(ctx), seq))
    const fields = Array.from({ length: values - 2 }, (_, index) => `a${index}: __typename`).join(' ')
    const document = parse(`subscription { event { seq ${fields} } }`)
    return { seen, subscription: new Subscription({ schema: testSchema, document, execute: executeMasked }, ctxOf()) }
  }
  const seqsUpTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

  test('cost tokens of their subscribers, of each in turn; those to keys cost none', () => {
    const [page, ofKey] = [open(2000), open(2000)]
    const tokens = tokensOf({ a: 100, b: 100 })
    for (const id of ['a', 'b']) page.subscription.payers.add(browser(id, tokens))
    for (const seq of [1, 2, 3]) clientOf(page.subscription).sink.deliver(batch(seq))
    expect(tokens).toEqual(tokensOf({ a: 96, b: 98 }, 994))
    ofKey.subscription.payers.add(ctxOf())
    clientOf(ofKey.subscription).sink.deliver(batch(1))
    expect(tokens).toEqual(tokensOf({ a: 96, b: 98 }, 994))
  })

  test('cost parts of a token where they are small, which each subscriber pays once they are one', () => {
    const { subscription } = open(250)
    const tokens = tokensOf({ a: 100, b: 100 })
    for (const id of ['a', 'b']) subscription.payers.add(browser(id, tokens))
    const client = clientOf(subscription)
    for (const seq of seqsUpTo(7)) client.sink.deliver(batch(seq))
    expect(tokens).toEqual(tokensOf({ a: 99, b: 100 }, 999))
    for (const seq of [8, 9]) client.sink.deliver(batch(seq))
    expect(tokens).toEqual(tokensOf({ a: 99, b: 99 }, 998))
  })

  test('of our own documents take at most a tenth of a usual rate at 10 events a second', () => {
    const document = parse(readFileSync(join(ROOT, 'src/clients/graphql/page.graphql'), 'utf8'))
    const { requested } = costOf(schema, document, { operationName: 'DiscussionEvents', variables: {} })
    const { subscription } = open(requested)
    const { perSecond, burst } = tenantSettings({}).clientToken
    const tokens = tokensOf({ a: burst })
    subscription.payers.add(browser('a', tokens))
    const client = clientOf(subscription)
    for (const seq of seqsUpTo(10)) client.sink.deliver(batch(seq))
    expect(burst - (tokens['t/a'] ?? 0)).toBeLessThanOrEqual(perSecond / 10)
  })

  test('wait while no subscriber has tokens, and are then made together', async () => {
    vi.useFakeTimers()
    for (const short of ['t/a', 't/address/here']) {
      const { seen, subscription } = open(2000)
      const tokens = { ...tokensOf({ a: 5 }), [short]: 0 }
      subscription.payers.add(browser('a', tokens))
      const client = clientOf(subscription)
      for (const seq of [1, 2, 3]) client.sink.deliver(batch(seq))
      await vi.advanceTimersByTimeAsync(2000)
      expect([client.seqs(), seen.length]).toEqual([[], 0])
      expect(tokens['t/a']).toBe(short === 't/a' ? 0 : 5)
      tokens[short] = 10
      await vi.advanceTimersByTimeAsync(300)
      expect(client.seqs()).toEqual([1, 2, 3])
      expect(new Set(seen).size).toBe(1)
      expect(tokens[short]).toBe(4)
    }
  })

  test('of a long replay are paid by portions of a burst; the address never owes tokens', async () => {
    vi.useFakeTimers()
    const { seen, subscription } = open(2000)
    const tokens = tokensOf({ a: 20 }, 30)
    subscription.payers.add(browser('a', tokens, 20))
    const client = clientOf(subscription)
    client.sink.deliver(batch(...seqsUpTo(40)))
    // A portion is 10 answers of 2 tokens.
    expect([seen.length, tokens]).toEqual([10, tokensOf({ a: 0 }, 10)])
    tokens['t/a'] = 1
    await vi.advanceTimersByTimeAsync(300)
    expect([seen.length, tokens]).toEqual([20, tokensOf({ a: -19 }, 0)])
    Object.assign(tokens, tokensOf({ a: 1 }, 1))
    await vi.advanceTimersByTimeAsync(300)
    expect([seen.length, tokens]).toEqual([30, tokensOf({ a: -19 }, 0)])
    // The rest is not paid for in time. What was paid for is sent.
    await vi.advanceTimersByTimeAsync(10_000)
    await vi.waitFor(() => expect(client.cuts).toEqual(['failed']))
    expect(client.seqs()).toEqual(seqsUpTo(30))
  })

  test('that were not paid for in time are neither charged nor made', async () => {
    vi.useFakeTimers()
    const { seen, subscription } = open(2000)
    const tokens = tokensOf({ a: 0 })
    subscription.payers.add(browser('a', tokens))
    const client = clientOf(subscription)
    client.sink.deliver(batch(1, 2))
    await vi.advanceTimersByTimeAsync(10_100)
    expect(client.cuts).toEqual(['failed'])
    tokens['t/a'] = 10
    await vi.advanceTimersByTimeAsync(1000)
    expect([seen.length, tokens]).toEqual([0, tokensOf({ a: 10 })])
    // Nor do later ones wait behind them.
    clientOf(subscription).sink.deliver(batch(3))
    expect([seen.length, tokens]).toEqual([1, tokensOf({ a: 8 }, 998)])
  })

  test('do not wait for one subscriber where another has tokens, and are not made for nobody', async () => {
    vi.useFakeTimers()
    const { seen, subscription } = open(2000)
    const tokens = tokensOf({ a: 0, b: 2 })
    const leave = ['a', 'b'].map((id) => subscription.payers.add(browser(id, tokens)))
    const client = clientOf(subscription)
    client.sink.deliver(batch(1))
    expect(client.seqs()).toEqual([1])
    client.sink.deliver(batch(2))
    for (const each of leave) each()
    await vi.advanceTimersByTimeAsync(300)
    expect(seen).toHaveLength(1)
    expect(client.cuts).toEqual(['failed'])
  })
})

describe('an event', () => {
  test('that cannot be answered gets an error, and the next one its own answer', () => {
    const subscription = subscriptionWith(({ seq }) => {
      if (seq === 1) throw new Error('secret')
      return seq
    })
    const client = clientOf(subscription)
    client.sink.deliver(batch(1, 2))
    expect(client.payloads()).toMatchObject([
      { data: { event: { seq: null } }, errors: [{ path: ['event', 'seq'], extensions: { code: 'internal' } }] },
      { data: { event: { seq: 2 } } },
    ])
    expect(JSON.stringify(client.payloads())).not.toContain('secret')
  })

  test('that is never answered ends the subscription after 10 s, so that the client resumes before it', async () => {
    vi.useFakeTimers()
    const subscription = subscriptionWith(({ seq }) => (seq === 1 ? new Promise(() => undefined) : seq))
    const client = clientOf(subscription)
    client.sink.deliver(batch(1, 2))
    client.sink.deliver(batch(3))
    await vi.advanceTimersByTimeAsync(9900)
    expect(client.sink.isFull).toBe(true)
    expect(client.cuts).toEqual([])
    await vi.advanceTimersByTimeAsync(400)
    expect(client.cuts).toEqual(['failed'])
    expect(client.payloads()).toEqual([])
  })

  test('that the service cannot answer now ends the subscription, after all before it and nothing after it', async () => {
    const answer = fc.constantFrom('now', 'later', 'unavailable now', 'unavailable later')
    const batches = fc.array(fc.array(answer, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        const answers = given.flat()
        const subscription = subscriptionWith(({ seq }) => {
          const kind = answers[seq - 1] ?? ''
          const act = (): number => {
            if (kind.startsWith('unavailable')) throw new ServiceError('unavailable')
            return seq
          }
          return kind.endsWith('later') ? turn().then(act) : act()
        })
        const client = clientOf(subscription)
        let seq = 0
        for (const some of given) client.sink.deliver(batch(...some.map(() => ++seq)))
        const failing = answers.findIndex((kind) => kind.startsWith('unavailable'))
        const expected = answers.slice(0, failing < 0 ? undefined : failing).map((_kind, index) => index + 1)
        await vi.waitFor(
          () => {
            expect(client.seqs()).toEqual(expected)
            expect(client.cuts).toEqual(failing < 0 ? [] : ['failed'])
          },
          { interval: 1 },
        )
        // What is still under way takes a turn, and writes nothing.
        for (let n = 0; n < 5; n++) await turn()
        expect(client.seqs()).toEqual(expected)
      }),
      { numRuns: 60 },
    )
  })
})

describe('a subscriber', () => {
  test('with more than 1 MiB waiting for its answers is cut off', () => {
    const client = clientOf(subscriptionWith(() => new Promise(() => undefined)))
    for (let n = 1; n <= 12; n++) client.sink.deliver(new Batch([frame(n, 'x'.repeat(100_000))]))
    expect(client.cuts).toEqual(['unsent'])
  })

  test('that reads nothing is cut off at 1 MiB', () => {
    const client = clientOf(subscriptionWith(({ seq }) => seq))
    client.isReading = false
    for (let n = 1; n <= 40_000 && client.cuts.length === 0; n++) client.sink.deliver(batch(n))
    expect(client.cuts).toEqual(['unsent'])
  })

  test('that reads long answers at its own pace is not cut off, whatever their total length', async () => {
    const { subscription, answers } = longAnswers(300_000)
    const client = clientOf(subscription)
    client.isReading = false
    client.sink.deliver(batch(...Array.from({ length: 20 }, (_, index) => index + 1)))
    client.sink.deliver(batch(21))
    expect(client.sink.isFull).toBe(true)
    client.read()
    await vi.waitFor(() => expect(client.payloads()).toHaveLength(21))
    expect(client.cuts).toEqual([])
    expect(answers()).toBe(21)
  })

  test('that does not read them is cut off by the backlog behind them', () => {
    const { subscription } = longAnswers(300_000)
    const client = clientOf(subscription)
    client.isReading = false
    client.sink.deliver(batch(1, 2, 3))
    for (let n = 4; n <= 7; n++) client.sink.deliver(batch(n))
    expect(client.cuts).toEqual(['unsent'])
  })

  test('whose source ends gets its end, and nothing after it', async () => {
    let answer = (): void => undefined
    const client = clientOf(subscriptionWith(({ seq }) => new Promise((resolve) => (answer = () => resolve(seq)))))
    client.sink.deliver(batch(1))
    client.source.end()
    answer()
    await client.sink.ready()
    for (let n = 0; n < 5; n++) await turn()
    expect(client.payloads()).toEqual([])
    expect(client.cuts).toEqual([])
  })
})

describe('an operation is the same subscription', () => {
  const QUERY = `subscription A($discussionId: ID!, $lastEventId: String, $isLong: Boolean = true) {
    discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) { seq id @include(if: $isLong) }
  }
  subscription B { discussionEvents(discussionId: "x") { seq } }`
  const operation = (variableValues: object, query = QUERY, operationName = 'A'): SharedOperation => ({
    schema: testSchema,
    execute: executeMasked,
    document: parse(query),
    operationName,
    variableValues: { ...variableValues },
  })
  const isSame = (one: [SharedOperation, CallerOf?], other: [SharedOperation, CallerOf?]): boolean => {
    const subscriptions = new Subscriptions()
    const sources = [newSource(), newSource()] as const
    const first = subscriptions.join(ctxOf(one[1]), one[0], sources[0])
    const second = subscriptions.join(ctxOf(other[1]), other[0], sources[1])
    expect(subscriptions.size).toBe(first === second ? 1 : 2)
    for (const source of sources) source.leave()
    expect(subscriptions.size).toBe(0)
    return first === second
  }
  const plain = operation({ discussionId: 'd' })

  test('wherever its subscribers resume, and whatever else they send', () => {
    expect(isSame([plain], [plain])).toBe(true)
    expect(isSame([plain], [operation({ discussionId: 'd', lastEventId: '7', more: 1 })])).toBe(true)
    expect(
      isSame(
        [plain, { capabilities: ['manage_settings', 'moderate_content'] }],
        [plain, { capabilities: ['moderate_content', 'manage_settings'] }],
      ),
    ).toBe(true)
  })

  test.each<[string, [SharedOperation, CallerOf?]]>([
    ['discussion', [operation({ discussionId: 'e' })]],
    ['variable', [operation({ discussionId: 'd', isLong: false })]],
    ['null', [operation({ discussionId: 'd', isLong: null })]],
    ['document', [operation({ discussionId: 'd' }, `${QUERY} `)]],
    ['operation name', [operation({ discussionId: 'd' }, QUERY, 'B')]],
    ['tenant', [plain, { tenantId: 'u' }]],
    ['capability', [plain, { capabilities: ['moderate_content'] }]],
    ['kind of caller', [plain, { isAdmin: true }]],
  ])('except with another %s', (_name, other) => {
    expect(isSame([plain], other)).toBe(false)
  })

  test('for all readers, unless it selects what one of them may see otherwise', () => {
    const selecting = (fields: string): SharedOperation => {
      const data = `data { ... on CommentEventData { comment { ${fields} } } }`
      return operation({ discussionId: 'd' }, QUERY.replace('seq id', `seq ${data} id`))
    }
    const isShared = (fields: string): boolean =>
      isSame([selecting(fields), { externalId: 'ada' }], [selecting(fields), { externalId: 'bob' }])
    expect(isSame([plain], [plain, { externalId: 'ada' }])).toBe(true)
    expect(['id', 'id parentId __typename', 'body', 'viewerReaction', 'discussion { id }'].map(isShared)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
  })

  test('unless its position is used elsewhere too', () => {
    const query = `subscription A($discussionId: ID!, $lastEventId: String!) {
      discussionEvents(discussionId: $discussionId, lastEventId: $lastEventId) {
        data { ... on CommentEventData { comment { replies(after: $lastEventId) { edges { cursor } } } } }
      }
    }`
    const after = (lastEventId: string) => operation({ discussionId: 'd', lastEventId }, query)
    expect(isSame([after('1')], [after('1')])).toBe(true)
    expect(isSame([after('1')], [after('2')])).toBe(false)
  })
})
