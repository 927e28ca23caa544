import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import pg from 'pg'

import { schema } from '../../src/api/execution/schema.ts'
import { compileRoute } from '../../src/api/rest/handler.ts'
import { ROUTES } from '../../src/api/rest/routes.ts'
import { withDatabase } from '../../src/app.ts'
import type { App, Ctx } from '../../src/core/context.ts'
import { encodeCursor } from '../../src/core/input/cursor.ts'
import { newId } from '../../src/core/ids.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import { readSettings } from '../../src/core/settings/settings.ts'
import { type Around, type Prisma, readNow, type TxSql } from '../../src/core/sql.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'
import type { Database } from '../../src/data/database.ts'
import { findAuditEntry, listAuditEntries } from '../../src/domains/audit/audit.ts'
import { moveAlias } from '../../src/domains/discussions/aliases.ts'
import { openExportFile, withdrawExports } from '../../src/domains/exports/exports.ts'
import { documentIdOf, findDocument } from '../../src/domains/documents/documents.ts'
import { followKeySet } from '../../src/domains/readers/key-sets.ts'
import { findApiKey } from '../../src/domains/api-keys/keys.ts'
import { formerReadersOf } from '../../src/domains/readers/merge/merged.ts'
import { endMerge, findReaderId, setBan } from '../../src/domains/readers/merge/sql.ts'
import { adoptSettings } from '../../src/domains/settings/settings.ts'
import { findAdminOf } from '../../src/domains/tenants/admins.ts'
import * as tenants from '../../src/domains/tenants/bootstrap.ts'
import { listTenants } from '../../src/domains/tenants/tenants.ts'
import { listImports } from '../../src/domains/imports/imports.ts'
import { moveReaderItems, refuseReaderName } from '../../src/domains/imports/sql.ts'
import { findFirstImport, findUnfinished, findWaiting } from '../../src/transfer/import/imports-sql.ts'
import { endUndo, findUndoable, noteRemoved } from '../../src/transfer/undo/undo-sql.ts'
import { adoptEndpoint } from '../../src/domains/webhooks/adopt.ts'
import { lockForReplay } from '../../src/domains/webhooks/sending/sending-sql.ts'
import { Prisma as Generated } from '../../src/generated/prisma/client.ts'
import { type Cost, explainingIn } from './costs.ts'
import { bodyOf, KID, type World } from './scale-world.ts'
import { unnamed } from './sql.ts'

/** A statement that Prisma has sent. */
export interface PrismaQuery {
  /** What was asked, and which of its statements this is. */
  name: string
  asked: string
  /** Of the statement, by the plan for its parameters, which is the only one that it gets. */
  cost: Cost
  keys: number
}

type Sent = Omit<PrismaQuery, 'name' | 'asked'>

export interface AskedPrisma {
  queries: readonly PrismaQuery[]
  /** The calls that were made, as `callsInSource` names them, with the number of their places. */
  calls: ReadonlyMap<string, number>
}

interface Input {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
}

interface Asking {
  ctx: Ctx
  app: App
  sql: TxSql
  w: World
  /** Asks a route as an admin of the tenant. */
  rest(route: string, input?: Input): Promise<unknown>
}

const endpoint = (w: World): string => w.id('endpoint', 0)
const after = (list: string, ...key: (string | number)[]): Record<string, string> => ({
  cursor: encodeCursor(list, ...key),
  limit: '100',
})
const deliveries =
  (query: (w: World) => Record<string, string>) =>
  ({ rest, w }: Asking) =>
    rest('GET /webhooks/:id/deliveries', { params: { id: endpoint(w) }, query: { limit: '100', ...query(w) } })
const ofEndpoint =
  (route: string, body?: object) =>
  ({ rest, w }: Asking) =>
    rest(route, { params: { id: endpoint(w) }, ...(body !== undefined && { body }) })
const plain =
  (route: string) =>
  ({ rest }: Asking) =>
    rest(route)
const page =
  (route: string) =>
  ({ rest }: Asking) =>
    rest(route, { query: { limit: '100' } })
const SPAN = (w: World): Record<string, string> => ({ from: w.days(60).toISOString(), to: w.days(30).toISOString() })

/** A route or an operation for each call of Prisma, and for each way to filter a list. */
const ASKS: Readonly<Record<string, (asking: Asking) => Promise<unknown>>> = {
  'a page of keys': page('GET /keys'),
  'a later page of keys': ({ rest, w }) => rest('GET /keys', { query: after('api-keys', w.id('key', 10)) }),
  'keys by their ids': ({ ctx, w }) => Promise.all(w.ids('key', 20, 20).map((id) => findApiKey(ctx, id))),
  'a new key': ({ rest }) => rest('POST /keys', { body: { label: 'A key', capabilities: [] } }),
  'the end of a key': ({ rest, w }) => rest('DELETE /keys/:id', { params: { id: w.id('key', 0) } }),

  'a page of documents': page('GET /documents'),
  'a later page of documents': ({ rest }) =>
    rest('GET /documents', { query: after('documents', documentIdOf(bodyOf('7'))) }),
  'a document by its id and by another': ({ app: { root: _root, ...app }, w }) =>
    Promise.all(['alias-7', documentIdOf(bodyOf('8'))].map((id) => findDocument(app, w.id('tenant'), id))),
  'new documents': ({ rest }) =>
    rest('POST /documents', { body: { manifest: { new: bodyOf('new'), 'alias-7': bodyOf('7') } } }),
  'the end of a document': ({ rest }) => rest('DELETE /documents/:documentId', { params: { documentId: 'alias-7' } }),

  'a page of endpoints': page('GET /webhooks'),
  'a later page of endpoints': ({ rest, w }) =>
    rest('GET /webhooks', { query: after('webhooks', w.id('endpoint', 3)) }),
  'an endpoint': ofEndpoint('GET /webhooks/:id'),
  'a new endpoint': ({ rest, w }) =>
    rest('POST /webhooks', { body: { url: 'https://example.com/new', discussionIds: w.ids('discussion', 20) } }),
  'a change of an endpoint': ofEndpoint('PATCH /webhooks/:id', { description: 'Another' }),
  'the end of an endpoint': ofEndpoint('DELETE /webhooks/:id'),
  'a handshake': ofEndpoint('POST /webhooks/:id/verify'),
  'a pause': ofEndpoint('POST /webhooks/:id/pause'),
  'the end of a pause': ofEndpoint('POST /webhooks/:id/resume'),
  'a rotation': ofEndpoint('POST /webhooks/:id/rotate-secret', { force: true }),
  'the end of a signing secret': ({ rest, w }) =>
    rest('DELETE /webhooks/:id/secrets/:kid', { params: { id: endpoint(w), kid: KID } }),
  'a test delivery': ofEndpoint('POST /webhooks/:id/test', { eventType: 'comment_created' }),
  'an endpoint enabled': ({ rest, w }) =>
    rest('POST /admin/webhooks/:id/enable', { params: { id: w.id('endpoint', 1) } }),

  'a page of deliveries': deliveries(() => ({})),
  'a later page of deliveries': deliveries((w) => after('deliveries', w.id('delivery', w.comments / 2))),
  ...Object.fromEntries(
    ['pending', 'delivering', 'delivered', 'failed', 'held'].map((status) => [
      `deliveries that are ${status}`,
      deliveries(() => ({ status })),
    ]),
  ),
  'deliveries of a type': deliveries(() => ({ eventType: 'comment_created' })),
  'deliveries of a type without any': deliveries(() => ({ eventType: 'discussion_locked' })),
  'deliveries of a time': deliveries(SPAN),
  'failed deliveries of a time': deliveries((w) => ({ ...SPAN(w), status: 'failed' })),
  'a delivery': ({ rest, w }) => {
    const params = { id: endpoint(w), deliveryId: w.id('delivery', 0) }
    return rest('GET /webhooks/:id/deliveries/:deliveryId', { params })
  },
  'a redelivery': ({ rest, w }) => {
    const params = { id: endpoint(w), deliveryId: w.id('delivery', 0) }
    return rest('POST /webhooks/:id/deliveries/:deliveryId/redeliver', { params })
  },

  'a page of readers': page('GET /readers'),
  'a later page of readers': ({ rest, w }) =>
    rest('GET /readers', { query: after('readers', w.id('reader', w.readers / 2)) }),
  'the reader of an external id': ({ rest }) => rest('GET /readers', { query: { externalId: 'reader-7' } }),
  'an external id that no reader has': ({ rest }) => rest('GET /readers', { query: { externalId: 'nobody' } }),
  'a reader': ({ rest, w }) => rest('GET /readers/:id', { params: { id: w.id('reader', 0) } }),
  'the readers who were merged': ({ ctx, w }) =>
    Promise.all(w.ids('reader', 100).map((id) => formerReadersOf(ctx, id))),
  'a ban': ({ rest, w }) => rest('POST /readers/:readerId/ban', { params: { readerId: w.id('reader', 0) }, body: {} }),
  'a merge, twice': async ({ rest, w }) => {
    const input = { params: { readerId: w.id('reader', 5) }, body: { into: w.id('reader', 6) } }
    await rest('POST /readers/:readerId/merge', input)
    await rest('POST /readers/:readerId/merge', input)
  },
  'a merge that was': ({ rest, w }) => rest('GET /readers/:readerId/merge', { params: { readerId: w.id('alias', 4) } }),

  'the name of a reader to merge': async ({ sql, w }) => {
    const names = [w.id('reader', 4), 'reader-4', 'nobody']
    for (const name of names) await findReaderId(sql.prisma, w.id('tenant'), name)
  },
  'a ban that moves with a merge': ({ sql, w }) =>
    setBan(sql, w.id('tenant'), w.id('reader', 0), {
      bannedAt: w.now,
      bannedUntil: null,
      banReason: null,
      shadowBanned: false,
    }),
  'the end of a merge': ({ sql, w }) =>
    endMerge(sql, w.id('tenant'), { id: w.id('alias', w.readers), externalId: 'a former name' }, newId()),
  'a former external id': ({ sql, w }) =>
    moveAlias(sql, w.id('tenant'), { id: w.id('discussion', 0), from: 'earlier', to: 'former' }),
  'an endpoint to replay to': ({ sql, w }) => lockForReplay(sql, w.id('tenant'), endpoint(w)),

  'exports to withdraw': ({ sql, w }) => withdrawExports(sql, w.id('tenant')),
  'a page of exports': page('GET /exports'),
  'a later page of exports': ({ rest, w }) => rest('GET /exports', { query: after('exports', w.id('export', 2)) }),
  'an export': ({ rest, w }) => rest('GET /exports/:id', { params: { id: w.id('export', 1) } }),
  'a new export': async ({ rest, w }) => {
    // It finds the one that is pending.
    await rest('POST /exports')
    await rest('DELETE /exports/:id', { params: { id: w.id('export', 0) } })
    await rest('POST /exports')
  },
  'the file of an export': async ({ ctx, w }) => {
    for await (const _piece of (await openExportFile(ctx, { id: w.id('export', 1) })).pieces()) continue
  },

  'a page of imports': page('GET /imports'),
  'a later page of imports': ({ rest, w }) => rest('GET /imports', { query: after('imports', w.id('import', 1)) }),
  'an import': ({ rest, w }) => rest('GET /imports/:id', { params: { id: w.id('import', 0) } }),
  'all imports': ({ app, w }) => listImports(app, w.id('tenant')),

  'the imports that an undo and an import read': async ({ app, sql, w }) => {
    const [tenant, id] = [w.id('tenant'), w.id('import', 0)]
    await findFirstImport(sql.prisma, tenant)
    await findUnfinished(sql.prisma, tenant, 'jsonl', 'file')
    await findWaiting(sql.prisma, tenant, id, w.id('waiting', 0))
    await findUndoable(app, tenant, id)
  },
  'an undo': async ({ app, sql, w }) => {
    const found = await findUndoable(app, w.id('tenant'), w.id('import', 0))
    if (found === null) throw new Error('there is no import')
    await noteRemoved(sql, w.id('tenant'), found.id, { readers: 1, comments: 1 })
    await endUndo(sql, w.id('tenant'), found, w.now)
  },
  'a reader who moves in imports': ({ sql, w }) =>
    moveReaderItems(sql, w.id('tenant'), w.id('reader', 0), w.id('reader', 1)),
  'a reader whom imports refuse': async ({ sql, w }) => {
    await sql(unnamed('UPDATE imports SET finished_at = NULL WHERE tenant_id = $1'), [w.id('tenant')])
    await refuseReaderName(sql, w.id('tenant'), 'reader-7')
  },

  'a page of the audit log': page('GET /audit-log'),
  'the audit log of a replica': ({ ctx, app }) =>
    listAuditEntries({ ...ctx, app: { ...app, late: { ...app.late, mayBeLate: true } } }, { first: 100 }),
  'entries of the audit log by their ids': ({ ctx, w }) =>
    Promise.all(w.ids('audit', 50).map((id) => findAuditEntry(ctx, id))),
  'the admins of entries': ({ ctx, w }) => findAdminOf(ctx, w.id('admin', 0)),

  'the readers with most comments': ({ rest, w }) => rest('GET /analytics/top', { query: SPAN(w) }),

  settings: plain('GET /settings'),
  'a change of the settings': ({ rest }) => rest('PATCH /settings', { body: { editWindowSeconds: 7 } }),
  "another tenant's settings": ({ app, sql, w }) =>
    adoptSettings(app, sql, { tenantId: w.id('tenant', 1), importId: w.id('import', 0) }, { editWindowSeconds: 7 }),
  "another tenant's endpoint": ({ app, sql, w }) =>
    adoptEndpoint(
      app,
      sql,
      { tenantId: w.id('tenant', 1), importId: w.id('import', 0) },
      {
        id: newId(),
        url: 'https://example.com/adopted',
        description: null,
        eventTypes: ['*'],
        discussionIds: undefined,
        policy: {},
        createdAt: w.now,
      },
    ),

  'a key set': plain('GET /identity-key-set'),
  'the end of a key set': ({ sql, w }) => followKeySet(sql, w.id('tenant'), null),
  ...Object.fromEntries(
    ['identity', 'classifier'].flatMap((kind) => [
      [`a page of ${kind} secrets`, page(`GET /${kind}-secrets`)],
      [
        `a later page of ${kind} secrets`,
        ({ rest, w }: Asking) =>
          rest(`GET /${kind}-secrets`, { query: after(`${kind}-secrets`, w.now.getTime(), KID) }),
      ],
      [`a new ${kind} secret`, plain(`POST /${kind}-secrets`)],
      [
        `the end of a ${kind} secret`,
        ({ rest }: Asking) => rest(`DELETE /${kind}-secrets/:kid`, { params: { kid: KID } }),
      ],
    ]),
  ),

  'a login': ({ rest }) =>
    rest('POST /admin/auth/login', { body: { email: '0@example.com', password: 'not the password' } }),
  'a new tenant': ({ app }) => tenants.createTenant(app, { slug: 'new', scryptN: 2 }),
  'another admin': ({ app, w }) => tenants.createAdmin(app, w.id('tenant'), 'new@example.com', 'a password'),
  'another password': ({ app, w }) => tenants.changeAdminPassword(app, w.id('tenant'), '0@example.com', 'a password'),
  'an admin less': ({ app, w }) => tenants.deleteAdmin(app, w.id('tenant'), '0@example.com'),
  'all admins': ({ app }) => tenants.listAdmins(app, null),
  'the admins of a tenant': ({ app, w }) => tenants.listAdmins(app, w.id('tenant')),
  'all tenants': ({ app }) => listTenants(app),
}

/** What an ask may end with: the world has no such password, and no file of an export. */
const ENDS: Readonly<Record<string, RegExp>> = {
  'a login': /wrong/,
  'the file of an export': /has been deleted/,
}

/** Calls of Prisma that nothing here makes, and why. */
export const NOT_ASKED: Readonly<Record<string, string>> = {
  'cli/cli.ts apiKey.findMany': 'lists all keys of a tenant, for an operator',
}

const WALKS = "walks through the endpoint's deliveries, newest first, until a page is full"

/** What may make Prisma read more where there is more, and why. */
export const GROWS_IN_PRISMA: Readonly<Record<string, string>> = {
  'deliveries that are pending': WALKS,
  'deliveries of a type without any': WALKS,
  'new documents': "counts the tenant's documents, of which there are at most 10 000",
}

/** Asks everything once on a filled database, explains what Prisma sends, and undoes it. */
export async function askPrisma(database: Database, w: World): Promise<AskedPrisma> {
  const settings = readSettings({ WEBHOOK_ALLOWED_PORTS: '1-65535' }, () => ({
    ADMIN_JWT_SECRET: 'a secret of the tests, which is long enough',
    ENCRYPTION_KEY: Buffer.alloc(32),
  }))
  const kept = { ...database, close: async () => undefined }
  const { app, close } = withDatabase(settings, createLog('silent'), kept)
  const queries: PrismaQuery[] = []
  const places = new Map<string, Set<string>>()
  try {
    for (const [name, ask] of Object.entries(ASKS)) {
      const sent = await sentBy(database, places, (sql) =>
        ask(askingOf(scoped(app, sql), sql, w)).catch((error: unknown) => {
          if (ENDS[name]?.test(String((error as { extras?: { detail?: string } }).extras?.detail ?? error)) === true)
            return
          throw new Error(`${name}: ${String(error)} ${JSON.stringify(error)}`, { cause: error })
        }),
      )
      queries.push(...sent.map((each, n) => ({ name: `${name}, statement ${n}`, asked: name, ...each })))
    }
  } finally {
    await close()
  }
  return { queries, calls: new Map([...places].map(([call, { size }]) => [call, size])) }
}

const ROLLED_BACK = new Error('rolled back')

/** What Prisma sends while `work` runs, in a transaction that is rolled back. */
async function sentBy(
  database: Database,
  places: Map<string, Set<string>>,
  work: (sql: TxSql) => Promise<unknown>,
): Promise<Sent[]> {
  const sent: Sent[] = []
  let explained: TxSql | undefined
  const { prototype } = pg.Client
  const query = prototype.query as (...args: unknown[]) => unknown
  prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [asked] = args as [{ text?: string; values?: unknown[] } | undefined]
    const send = () => Reflect.apply(query, this, args)
    const sql = explained
    // Prisma names the schema of each table.
    if (sql === undefined || asked?.text?.includes('"public".') !== true) return send()
    explained = undefined
    return costOf(sql, asked.text, asked.values ?? [])
      .then((cost) => void sent.push(cost))
      .finally(() => (explained = sql))
      .then(send)
  } as typeof prototype.query
  try {
    await database.db.transaction(async (sql) => {
      explained = sql
      await work(inTurn(sql, places)).finally(() => (explained = undefined))
      throw ROLLED_BACK
    })
  } catch (error) {
    if (error !== ROLLED_BACK) throw error
  } finally {
    prototype.query = query as typeof prototype.query
  }
  return sent
}

/** What a statement costs where it is sent: it may need what the one before has written. */
async function costOf(sql: TxSql, text: string, params: readonly unknown[]): Promise<Sent> {
  const sent = { cost: { blocks: NaN, plan: '' }, keys: params.length }
  await explainingIn(sql, { text }, 'custom', async ({ explain }) => {
    const { blocks, plan } = await explain(params)
    sent.cost = { blocks, plan: `${text}\n${plan}` }
  })
  return sent
}

/** The same transaction, for callers that do not wait for each other; it notes calls of Prisma. */
function inTurn(sql: TxSql, places: Map<string, Set<string>>): TxSql {
  let last: Promise<unknown> = Promise.resolve()
  const around: Around = (_asked, run) => {
    const turn = last.then(run)
    last = turn.catch(() => undefined)
    return turn
  }
  const queued = sql.within(around)
  const prisma = noting(queued.prisma, places)
  return Object.defineProperties(((asked, params) => queued(asked, params)) as TxSql, {
    prisma: { value: prisma },
    within: { value: () => inTurn(sql, places) },
    trace: { value: undefined },
  })
}

function noting(prisma: Prisma, places: Map<string, Set<string>>): Prisma {
  const modelOf = (name: string, model: object): object =>
    new Proxy(model, {
      get: (target, method: string) => (args: unknown) => {
        const [, file = '', place = ''] =
          /\/src\/((?!generated)[^:?]+\.ts)[^:]*(:\d+:\d+)/.exec(new Error().stack ?? '') ?? []
        const call = `${file} ${name}.${method}`
        places.set(call, (places.get(call) ?? new Set()).add(place))
        return (target as Record<string, (args: unknown) => unknown>)[method]?.(args)
      },
    })
  return new Proxy(prisma, {
    get: (target, name: string) => modelOf(name, (target as unknown as Record<string, object>)[name] ?? {}),
  })
}

/** The app of one request whose statements all go to one transaction. */
function scoped(app: App, sql: TxSql): App {
  const db = { ...app.db, query: sql, transaction: <T>(work: (sql: TxSql) => Promise<T>) => work(sql), connections: 1 }
  const scope = { effects: [], erasedReaders: new Set<string>() }
  return { ...app, root: app, db, late: readNow(db), prisma: sql.prisma, scope }
}

function askingOf(app: App, sql: TxSql, w: World): Asking {
  const tenant = { id: w.id('tenant'), slug: 'large', settings: tenantSettings(w.settings) }
  const admin = w.id('admin', 0)
  const expiresAt = new Date(w.now.getTime() + 3_600_000)
  const actor = { kind: 'admin', id: admin, credentialId: admin, email: '0@example.com', expiresAt } as const
  const ctx: Ctx = { app, requestId: 'scale', address: null, caller: { tenant, actor, identity: null } }
  const rest = async (title: string, { params = {}, query = {}, body }: Input = {}): Promise<unknown> => {
    const route = ROUTES.find(({ method, path }) => `${method} ${path}` === title)
    if (route === undefined) throw new Error(`there is no route ${title}`)
    return compileRoute(schema, route).answer({ ...ctx }, { params, query, body })
  }
  return { ctx, app, sql, w, rest }
}

const SOURCE = join(import.meta.dirname, '../../src')
const METHODS =
  'findMany|findFirst|findUnique|findFirstOrThrow|findUniqueOrThrow|count|aggregate|groupBy|create|createMany'
const MODELS = Object.values(Generated.ModelName).map((name) => name[0]?.toLowerCase() + name.slice(1))
const CALL = new RegExp(
  `(?<![\\w$])(${MODELS.join('|')})\\s*\\.\\s*(${METHODS}|createManyAndReturn|update|updateMany|delete|deleteMany|upsert)\\(`,
  'g',
)

/** How often each file of the service calls a method of a model. */
export function callsInSource(): Map<string, number> {
  const found = new Map<string, number>()
  for (const file of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || /^(generated|console|clients)\//.test(file)) continue
    const text = readFileSync(join(SOURCE, file), 'utf8')
    if (!/\bprisma\b/.test(text)) continue
    for (const [, model, method] of text.matchAll(CALL)) {
      const call = `${file} ${model}.${method}`
      found.set(call, (found.get(call) ?? 0) + 1)
    }
  }
  return found
}
