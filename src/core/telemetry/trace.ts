import type { Bus } from '../bus.ts'
import type { App } from '../app.ts'
import type { Limits } from '../limits.ts'
import { codeOf } from '../outage.ts'
import { type Span, traceIds } from '../span.ts'
import type { Around, Db, Prisma } from '../database/database.ts'
import type { LateReads } from '../database/late-reads.ts'

/**
 * The app for traced work: statements and commands become children of `span`. The context is passed
 * with the app, because AsyncLocalStorage makes every promise of the process slower on Node 20.
 */
export function traced(app: App, span: Span | null | undefined): App {
  if (span == null) return app
  // Each is made at its first use: most requests use neither.
  let prisma: Prisma | undefined
  let log: App['log'] | undefined
  return {
    ...tracedFor(app, [span]),
    span,
    get prisma() {
      return (prisma ??= tracedPrisma(app.prisma, span))
    },
    limits: app.settings.REDIS_URL === undefined ? app.limits : tracedLimits(app.limits, span),
    get log() {
      return (log ??= app.log.child(traceIds(span)))
    },
  }
}

/** The app for work that serves several requests at once: it is a child of each of `spans`. */
export function tracedFor(app: App, spans: readonly Span[]): App {
  const [first] = spans
  if (first === undefined) return app
  return {
    ...app,
    root: app.root ?? app,
    db: tracedDb(app.db, spans, first.traceparent),
    late: tracedReads(app.late, spans),
    bus: app.settings.REDIS_URL === undefined ? app.bus : tracedBus(app.bus, spans),
  }
}

function tracedDb(db: Db, spans: readonly Span[], trace: string): Db {
  const around = aroundOf(spans)
  return {
    ...db,
    query: Object.assign<Db['query'], { trace: string }>(
      (asked, params) => around(asked, () => db.query(asked, params)),
      { trace },
    ),
    transaction: (work, lockWaitMs) =>
      during(spans, 'transaction', (parts) =>
        db.transaction((sql) => work(sql.within(aroundOf(parts), trace)), lockWaitMs),
      ),
  }
}

function tracedReads(late: LateReads, spans: readonly Span[]): LateReads {
  const around = aroundOf(spans)
  return {
    ...late,
    query: (asked, params) => around(asked, () => late.query(asked, params)),
    transaction: (work) =>
      during(spans, 'transaction', (parts) => late.transaction((sql, asOf) => work(sql.within(aroundOf(parts)), asOf))),
  }
}

const SQL = { 'db.system.name': 'postgresql' }
const REDIS = { 'db.system.name': 'redis' }

// Prisma generates its statements, and gives them no names.
const aroundOf =
  (spans: readonly Span[]): Around =>
  ({ name }, run) =>
    during(spans, name === '' ? 'prisma' : name, run)

async function during<T>(spans: readonly Span[], name: string, work: (parts: Span[]) => Promise<T>): Promise<T> {
  const parts = spans.map((span) => span.begin(name, { kind: 'client', attributes: SQL }))
  try {
    const result = await work(parts)
    for (const part of parts) part.end()
    return result
  } catch (error) {
    for (const part of parts) part.end(failureOf(error))
    throw error
  }
}

function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error'
  const code = codeOf(error)
  return typeof code === 'string' ? code : error.name
}

type Call = (...args: unknown[]) => PromiseLike<unknown>

/** A Prisma client whose calls become children of `span`. */
const tracedPrisma = (prisma: Prisma, span: Span): Prisma =>
  wrapped(prisma, (model, modelName) =>
    typeof model !== 'object' || model === null
      ? model
      : wrapped(model, (method, name) =>
          typeof method !== 'function'
            ? method
            : (...args: unknown[]) => {
                const part = span.begin(`${modelName}.${name}`, { kind: 'client', attributes: SQL })
                const result = (method as Call).apply(model, args)
                result.then(
                  () => part.end(),
                  (error: unknown) => part.end(failureOf(error)),
                )
                return result
              },
        ),
  )

const wrapped = <T extends object>(target: T, wrap: (value: unknown, name: string) => unknown): T =>
  new Proxy(target, {
    get: (of, name) => {
      const value: unknown = Reflect.get(of, name)
      return typeof name === 'string' ? wrap(value, name) : value
    },
  })

const tracedBus = (bus: Bus, spans: readonly Span[]): Bus => ({
  ...bus,
  publish: (channel, message, onSent) => {
    // Without the id after a channel's kind.
    const name = `publish ${channel.split(':', 1)[0]}`
    const parts = spans.map((span) => span.begin(name, { kind: 'producer', attributes: REDIS }))
    bus.publish(channel, message, () => {
      for (const part of parts) part.end()
      onSent?.()
    })
  },
})

const tracedLimits = (limits: Limits, span: Span): Limits => ({
  ...limits,
  takeExactly: (kind, name, rate) => {
    const part = span.begin(`limit ${kind}`, { kind: 'client', attributes: REDIS })
    return limits.takeExactly(kind, name, rate).finally(() => part.end())
  },
})
