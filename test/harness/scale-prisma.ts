import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import pg from 'pg'

import { schema } from '../../src/api/execution/schema.ts'
import { compileRoute } from '../../src/api/rest/handler.ts'
import { ROUTES } from '../../src/api/rest/routes.ts'
import { withDatabase } from '../../src/app.ts'
import type { Doer } from '../../src/core/audit.ts'
import { requireCaller } from '../../src/core/access.ts'
import type { App } from '../../src/core/app.ts'
import type { MemberActor } from '../../src/core/caller.ts'
import { CAPABILITIES } from '../../src/core/capabilities.ts'
import type { Ctx } from '../../src/core/context.ts'
import { encodeCursor } from '../../src/core/input/cursor.ts'
import { FIRST_ID, newId } from '../../src/core/ids.ts'
import { createLog } from '../../src/core/telemetry/log.ts'
import { readSettings } from '../../src/core/settings/settings.ts'
import type { Around, Prisma, TxSql } from '../../src/core/database/database.ts'
import { readNow } from '../../src/core/database/late-reads.ts'
import { tenantSettings } from '../../src/core/settings/tenant.ts'
import type { Database } from '../../src/data/database.ts'
import { findAuditEntry, listAuditEntries } from '../../src/domains/audit/audit.ts'
import { recordDecision } from '../../src/domains/comments/decided.ts'
import type { LockedComment } from '../../src/domains/comments/locked.ts'
import { moveAlias } from '../../src/domains/discussions/aliases.ts'
import { deleteDiscussion } from '../../src/domains/discussions/delete.ts'
import { removeEvents } from '../../src/domains/discussions/remove.ts'
import {
  countUnread,
  exportInbox,
  findNotification,
  forgetNotifications,
  listNotifications,
  markNotificationsRead,
  markRead,
} from '../../src/domains/notifications/notifications.ts'
import { notifyOfMentions } from '../../src/domains/comments/notify-mentioned.ts'
import { findNewest } from '../../src/domains/front-pages/latest.ts'
import { notifyOfDecision, notifyOfReply } from '../../src/domains/comments/notify.ts'
import { listPending, markHandedOut } from '../../src/domains/notifications/pending.ts'
import { trimNextInbox } from '../../src/domains/notifications/trim.ts'
import { preferencesOf, updatePreferences } from '../../src/domains/notifications/preferences.ts'
import { CAUSES } from '../../src/domains/notices/causes.ts'
import { LOOKS } from '../../src/domains/notices/news.ts'
import { adoptNoticeChannel } from '../../src/domains/notices/adopt.ts'
import { findNoticeChannel } from '../../src/domains/notices/notices.ts'
import { findNote, moveNotes } from '../../src/domains/notes/notes.ts'
import {
  exportAuditEntries,
  exportComments,
  exportNotes,
  exportReactions,
  exportReports,
  exportRevisions,
} from '../../src/domains/erasure/export-sql.ts'
import { recallDeliveries } from '../../src/domains/erasure/scrub-sql.ts'
import { touchErasure } from '../../src/domains/erasure/sql.ts'
import { deleteExpiredExports } from '../../src/transfer/export/make-sql.ts'
import { openExportFile, withdrawExports } from '../../src/domains/exports/exports.ts'
import { putPart } from '../../src/domains/import-uploads/parts.ts'
import { removeEnded } from '../../src/transfer/uploads/remove.ts'
import { forgetInAnswers } from '../../src/domains/idempotency/idempotency.ts'
import { documentIdOf, findDocument } from '../../src/domains/documents/documents.ts'
import { followKeySet } from '../../src/domains/readers/key-sets.ts'
import { findApiKey } from '../../src/domains/api-keys/keys.ts'
import { formerReadersOf } from '../../src/domains/readers/merged.ts'
import { digestsOf } from '../../src/domains/guests/address.ts'
import { getMailer, noteFailure, noteSuccess } from '../../src/domains/guests/mailer.ts'
import { deferMail, endMail } from '../../src/domains/guests/mails.ts'
import { isNewGuest } from '../../src/domains/comments/history/new-guest.ts'
import { forgetOldRequests, storeRequest } from '../../src/domains/guests/requests.ts'
import { confirmGuest, deleteExpiredGuestTokens, endGuestToken, findGuest } from '../../src/domains/guests/tokens.ts'
import { deleteOldSignIns } from '../../src/domains/staff/sign-ins.ts'
import {
  exportMutes,
  listMutes,
  mutedByViewer,
  muteReader,
  unmuteReader,
} from '../../src/domains/readers/mutes/mutes.ts'
import { getViewer } from '../../src/domains/readers/records.ts'
import { endMerge, findReaderId, setStanding, touchMerge } from '../../src/domains/merges/sql.ts'
import { adoptSettings } from '../../src/domains/settings/settings.ts'
import { adoptSite } from '../../src/domains/sites/adopt.ts'
import { discussionsOf, isCommentOf } from '../../src/domains/sites/pages.ts'
import { findSiteByKey, findSiteOf } from '../../src/domains/sites/sites.ts'
import { findMember } from '../../src/domains/staff/members.ts'
import { nameOfMember } from '../../src/domains/staff/names.ts'
import { changeMember, invite, inviteAgain, operatorOf, removeMember } from '../../src/domains/staff/membership.ts'
import {
  beginTotp,
  checkSecondFactor,
  confirmTotp,
  hasSecondFactor,
  removeTotp,
} from '../../src/domains/staff/second-factor.ts'
import { codeOf } from './members.ts'
import { listAllMembers, setPassword } from '../../src/domains/staff/operators.ts'
import * as tenants from '../../src/domains/bootstrap/bootstrap.ts'
import { setReaderBadges } from '../../src/domains/readers/badges/badges.ts'
import { resumeTenant, suspendTenant } from '../../src/domains/tenants/suspend.ts'
import { touchPages } from '../../src/domains/tenants/tenants.ts'
import { listImports } from '../../src/domains/imports/imports.ts'
import { moveReaderItems, refuseReaderName } from '../../src/domains/imports/sql.ts'
import { findFirstImport, findUnfinished, findWaiting, noteProgress } from '../../src/transfer/store/imports-sql.ts'
import { findAuditEntries } from '../../src/transfer/import/own-sql.ts'
import { findNamed } from '../../src/transfer/rehearsal/rehearse-sql.ts'
import { removeInserted } from '../../src/transfer/store/named-sql.ts'
import { endUndo, findUndoable, forgetComments, forgetReaders, noteRemoved } from '../../src/transfer/undo/undo-sql.ts'
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

const identityOf = (w: World) => ({
  externalId: 'muting',
  readerId: w.id('reader', 0),
  issuedAt: new Date(),
  ...NO_PROFILE,
})
const NO_PROFILE = { name: null, avatarUrl: null, profileUrl: null, badges: null }

const PUBLIC_KEY = `pk_${'7'.padStart(64, '0')}`

const GUEST = { name: 'Gia', email: 'gia@example.com', pageUrl: 'https://www.example.com/a' }

/** A site that takes guests, and its tenant. */
async function guestSite({ ctx, app, w }: Asking) {
  const site = await findSiteOf(app, { tenantId: w.id('tenant'), id: w.id('site', 3) })
  const { tenant } = requireCaller(ctx)
  if (site === null) throw new Error('the site is gone')
  const settings = { ...tenant.settings, guests: { mailUrl: 'https://mailer.example.com', hold: 1 } }
  return { site: { ...site, guests: 'email' as const }, tenant: { ...tenant, settings } }
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
const doerIn = (w: World): Doer => ({ tenantId: w.id('tenant'), actor: { kind: 'admin', id: w.id('admin', 0) } })
/** A comment that a ban has withheld, or nothing if it has no reason. */
const decidedIn = (w: World) =>
  ({
    id: w.id('comment', 0),
    authorId: w.id('reader', 0),
    status: 'approved',
    holdReason: 'author_banned',
    flagged: true,
    isAsked: false,
    reportCount: 2,
    reportsAnswered: 1,
    firstApprovedAt: w.now,
    createdAt: w.now,
    editedAt: null,
    discussionUrl: 'https://example.com/sport/1',
  }) as LockedComment
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

  'a page of sites': page('GET /sites'),
  'a later page of sites': ({ rest, w }) => rest('GET /sites', { query: after('sites', w.id('site', 10)) }),
  'a site': ({ rest, w }) => rest('GET /sites/:id', { params: { id: w.id('site', 3) } }),
  'a site by its key': ({ app: { root: _root, ...app } }) => findSiteByKey(app, PUBLIC_KEY, () => undefined),
  'the site of a ticket': ({ app: { root: _root, ...app }, w }) =>
    findSiteOf(app, { tenantId: w.id('tenant'), id: w.id('site', 3) }),
  'a comment of a site': async ({ app, w }) => {
    const site = await findSiteOf(app, { tenantId: w.id('tenant'), id: w.id('site', 3) })
    return site && isCommentOf(app, site, w.id('comment', 7))
  },
  'the discussions of a ticket of a site': async ({ app, w }) => {
    const site = await findSiteOf(app, { tenantId: w.id('tenant'), id: w.id('site', 3) })
    return site && discussionsOf(app, site, w.ids('discussion', 3, 50))
  },
  'a new site': ({ rest }) => rest('POST /sites', { body: { name: 'A site', origins: ['https://a.example'] } }),
  'a changed site': ({ rest, w }) =>
    rest('PATCH /sites/:id', { params: { id: w.id('site', 3) }, body: { posting: false } }),
  'the end of a site': ({ rest, w }) => rest('DELETE /sites/:id', { params: { id: w.id('site', 4) } }),
  'a notice channel of an import': ({ sql, w }) =>
    adoptNoticeChannel(
      sql,
      { tenantId: w.id('tenant', 1), importId: w.id('import', 0) },
      { id: newId(), kind: 'slack', host: 'hooks.example.com', on: ['export_ready'], createdAt: w.now },
    ),
  'a site of an import': ({ sql, w }) =>
    adoptSite(
      sql,
      { tenantId: w.id('tenant'), importId: w.id('import') },
      {
        id: w.id('site', 40),
        name: 'A site',
        origins: ['https://a.example'],
        publicKey: `pk_${'f'.repeat(64)}`,
        posting: true,
        guests: 'off',
        createdAt: w.now,
      },
    ),

  'a page of notice channels': page('GET /notice-channels'),
  'notice channels by their ids': ({ ctx, w }) =>
    Promise.all(w.ids('notice', 9, 9).map((id) => findNoticeChannel(ctx, id))),
  'a new notice channel': ({ rest }) =>
    rest('POST /notice-channels', {
      body: { kind: 'slack', url: 'https://hooks.example.com/x', on: ['comment_waiting'] },
    }),
  'a changed notice channel': ({ rest, w }) =>
    rest('PATCH /notice-channels/:id', { params: { id: w.id('notice', 3) }, body: { on: ['export_ready'] } }),
  'the test of a notice channel': ({ rest, w }) =>
    rest('POST /notice-channels/:id/test', { params: { id: w.id('notice', 3) } }),
  'the end of a notice channel': ({ rest, w }) =>
    rest('DELETE /notice-channels/:id', { params: { id: w.id('notice', 4) } }),
  'news for a notice channel': ({ sql, w }) =>
    Promise.all(CAUSES.map((cause) => LOOKS[cause]({ sql, prisma: sql.prisma }, w.id('tenant'), {}))),

  'a page of documents': page('GET /documents'),
  'a later page of documents': ({ rest }) =>
    rest('GET /documents', { query: after('documents', documentIdOf(bodyOf('7'))) }),
  'a document by its id and by another': ({ app: { root: _root, ...app }, w }) =>
    Promise.all(['alias-7', documentIdOf(bodyOf('8'))].map((id) => findDocument(app, w.id('tenant'), id))),
  'new documents': ({ rest }) =>
    rest('POST /documents', { body: { manifest: { new: bodyOf('new'), 'alias-7': bodyOf('7') } } }),
  'the end of a document': ({ rest }) => rest('DELETE /documents/:documentId', { params: { documentId: 'alias-7' } }),

  'the notes on a reader': ({ rest, w }) =>
    rest('GET /readers/:readerId/notes', { params: { readerId: w.id('reader', 0) }, query: { limit: '100' } }),
  'the notes on a comment': ({ rest, w }) =>
    rest('GET /comments/:commentId/notes', { params: { commentId: w.id('comment', 0) }, query: { limit: '100' } }),
  'a new note': ({ rest, w }) =>
    rest('POST /readers/:readerId/notes', { params: { readerId: w.id('reader', 0) }, body: { text: 'A note' } }),
  'the end of a note': ({ rest, w }) => rest('DELETE /notes/:noteId', { params: { noteId: w.id('note', 1) } }),
  'a claim': ({ rest, w }) => rest('POST /moderation/claim', { body: { ids: w.ids('comment', 50) } }),
  'the end of a claim': ({ rest, w }) => rest('DELETE /moderation/claim', { body: { ids: w.ids('comment', 50) } }),
  'a review': ({ rest, w }) =>
    rest('POST /comments/:commentId/review', { params: { commentId: w.id('comment', w.comments - 1) } }),
  'notes by their ids': ({ ctx, w }) => Promise.all(w.ids('note', 20, 20).map((id) => findNote(ctx, id))),
  'notes that move': ({ sql, w }) => moveNotes(sql, w.id('tenant'), w.id('reader', 1), w.id('reader', 0)),

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
  'a probe': ({ rest, w }) => rest('POST /webhooks/:id/probe', { params: { id: w.id('endpoint', 2) } }),
  'a rotation': ofEndpoint('POST /webhooks/:id/rotate-secret', { force: true }),
  'the end of a signing secret': ({ rest, w }) =>
    rest('DELETE /webhooks/:id/secrets/:kid', { params: { id: endpoint(w), kid: KID } }),
  'a test delivery': ofEndpoint('POST /webhooks/:id/test', { eventType: 'comment_created' }),
  'an endpoint enabled': ({ rest, w }) =>
    rest('POST /admin/webhooks/:id/enable', { params: { id: w.id('endpoint', 1) } }),

  "an endpoint's health": ofEndpoint('GET /webhooks/:id/health'),
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
  'deliveries of an event': deliveries((w) => ({ eventId: w.id('event', 0) })),
  'deliveries of a comment': deliveries((w) => ({ commentId: w.id('comment', 0) })),
  ...Object.fromEntries(
    ['http_2xx', 'http_3xx', 'http_4xx', 'http_5xx', 'none'].map((answer) => [
      `deliveries that got ${answer}`,
      deliveries(() => ({ answer })),
    ]),
  ),
  'deliveries of a time': deliveries(SPAN),
  'failed deliveries of a time': deliveries((w) => ({ ...SPAN(w), status: 'failed' })),
  'deliveries to all endpoints': ({ rest }) => rest('GET /deliveries', { query: { limit: '100' } }),
  'later deliveries to all endpoints': ({ rest, w }) =>
    rest('GET /deliveries', { query: after('deliveries', w.id('delivery', w.comments / 2)) }),
  "all of a comment's deliveries": ({ rest, w }) =>
    rest('GET /deliveries', { query: { commentId: w.id('comment', 0), limit: '100' } }),
  "all of an event's deliveries": ({ rest, w }) =>
    rest('GET /deliveries', { query: { eventId: w.id('event', 0), limit: '100' } }),
  'a delivery': ({ rest, w }) => {
    const params = { id: endpoint(w), deliveryId: w.id('delivery', 0) }
    return rest('GET /webhooks/:id/deliveries/:deliveryId', { params })
  },
  redeliveries: ({ rest, w }) =>
    rest('POST /webhooks/:id/redeliver', {
      params: { id: endpoint(w) },
      body: { deliveryIds: [w.id('delivery', 0)] },
    }),
  'a redelivery': ({ rest, w }) => {
    const params = { id: endpoint(w), deliveryId: w.id('delivery', 0) }
    return rest('POST /webhooks/:id/deliveries/:deliveryId/redeliver', { params })
  },

  'the copies of a text': ({ rest }) =>
    rest('POST /moderation/try', { body: { body: 'a text that is long enough', settings: { holdRepeatedText: 1 } } }),
  'a page of readers': page('GET /readers'),
  'a later page of readers': ({ rest, w }) =>
    rest('GET /readers', { query: after('readers', w.id('reader', w.readers / 2)) }),
  'the reader of an external id': ({ rest }) => rest('GET /readers', { query: { externalId: 'reader-7' } }),
  'an external id that no reader has': ({ rest }) => rest('GET /readers', { query: { externalId: 'nobody' } }),
  'a reader': ({ rest, w }) => rest('GET /readers/:id', { params: { id: w.id('reader', 0) } }),
  'the readers who were merged': ({ ctx, w }) =>
    Promise.all(w.ids('reader', 100).map((id) => formerReadersOf(ctx, id))),
  'a ban': ({ rest, w }) => rest('POST /readers/:readerId/ban', { params: { readerId: w.id('reader', 0) }, body: {} }),
  'old sign-ins': ({ app }) => deleteOldSignIns(app),
  'old requests of guests': ({ app }) => forgetOldRequests(app),
  'expired tokens of guests': ({ app }) => deleteExpiredGuestTokens(app),
  'a mail for a guest': async ({ app, w }) => {
    const digests = await digestsOf(app, w.id('tenant'), GUEST.email, '192.0.2.1')
    await storeRequest(app, w.id('tenant'), GUEST, digests, w.now)
  },
  'a confirmed address, of a guest and of a new one': async (asking) => {
    const { site, tenant } = await guestSite(asking)
    const from = { site, tenant, address: '192.0.2.1' }
    for (const n of ['6', '7']) await confirmGuest(asking.app, from, { token: n.padStart(64, '0') })
  },
  'the state of the mailer': ({ ctx }) => getMailer(ctx),
  'a mail that is handed out, and one that is not': async ({ app, w }) => {
    const mail = { tenantId: w.id('tenant'), id: w.id('guestRequest', 3) }
    await deferMail(app, mail, 0)
    await endMail(app, mail)
    const mailer = { tenantId: w.id('tenant'), url: 'https://mailer.example.com/' }
    await noteSuccess(app, mailer)
    await noteFailure(app, { ...mailer, error: 'status 500' })
  },
  'the token of a guest, and its end': async (asking) => {
    const { site, tenant } = await guestSite(asking)
    const token = `gt_${'8'.padStart(64, '0')}`
    const { root: _root, ...app } = asking.app
    const { readerId = '' } = await findGuest(app, site, tenant, token)
    await endGuestToken(app, tenant.id, token, readerId)
  },
  'whether a guest is on hold': async (asking) => {
    const { tenant } = await guestSite(asking)
    await isNewGuest(asking.app, tenant, {
      id: asking.w.id('reader', 0),
      externalId: `guest:${asking.w.id('reader', 0)}`,
    })
  },
  'expired exports': ({ app }) => deleteExpiredExports(app),
  'the deletion of a discussion': ({ ctx, w }) => deleteDiscussion(ctx, w.id('discussion', 0)),
  'events of a deleted discussion': ({ sql, w }) =>
    removeEvents(sql, { tenantId: w.id('tenant'), id: w.id('discussion', 0) }),
  'a ban that rejects': ({ rest, w }) =>
    rest('POST /readers/:readerId/ban', { params: { readerId: w.id('reader', 0) }, body: { comments: 'reject' } }),
  "a change of a reader's badges": ({ ctx, w }) => {
    const { tenant, ...caller } = requireCaller(ctx)
    const badges = [{ id: 'staff', label: 'Staff', tone: 'info' as const }]
    const withBadges = { ...tenant, settings: { ...tenant.settings, badges } }
    const input = { readerId: w.id('reader', 0), badges: ['staff'] }
    return setReaderBadges({ ...ctx, caller: { ...caller, tenant: withBadges } }, input)
  },
  'a change of trust': ({ rest, w }) =>
    rest('PUT /readers/:readerId/trust', { params: { readerId: w.id('reader', 0) }, body: { trust: 'hold' } }),
  'mutes of a reader': async ({ ctx, w }) => {
    const caller = { ...requireCaller(ctx), identity: identityOf(w) }
    const asViewer: Ctx = { ...ctx, caller }
    const viewer = await getViewer(asViewer)
    await mutedByViewer(asViewer)
    await unmuteReader(asViewer, { readerId: w.id('reader', 3) })
    await muteReader(asViewer, { readerId: w.id('reader', 3) })
    await exportMutes(ctx.app.prisma, w.id('tenant'), viewer.id)
    await listMutes(asViewer, viewer, { first: 100 })
    await listMutes(asViewer, viewer, { after: encodeCursor('mutes', w.id('reader', 1)) })
  },
  'the inbox that a reader sees': async ({ ctx, w }) => {
    const asViewer: Ctx = { ...ctx, caller: { ...requireCaller(ctx), identity: identityOf(w) } }
    const viewer = await getViewer(asViewer)
    const ofNotification = w.id('notification', 7)
    await listNotifications(asViewer, viewer, { first: 100 })
    await listNotifications(asViewer, viewer, { unread: true, after: encodeCursor('notifications', ofNotification) })
    await countUnread(asViewer, viewer)
    await findNotification(asViewer, ofNotification)
    await listPending(ctx, { first: 100, olderThanSeconds: 0 })
  },
  'the inbox of a reader': async ({ ctx, sql, w }) => {
    const asViewer: Ctx = { ...ctx, caller: { ...requireCaller(ctx), identity: identityOf(w) } }
    const viewer = await getViewer(asViewer)
    const ofNotification = w.id('notification', 7)
    await preferencesOf(asViewer, viewer)
    await updatePreferences(asViewer, { reply: 'all', mention: 'none' })
    await exportInbox(ctx.app.prisma, w.id('tenant'), viewer.id)
    await markNotificationsRead(asViewer, { which: { ids: [ofNotification] } })
    await markNotificationsRead(asViewer, { which: { before: new Date() } })
    await markRead(sql, { tenantId: w.id('tenant'), readerId: viewer.id }, [ofNotification])
    const told = { tenantId: w.id('tenant'), readerId: viewer.id, commentId: w.id('comment', 9), now: w.now }
    await notifyOfReply(sql, told, null)
    await notifyOfDecision(sql, told)
    await notifyOfMentions(sql, { ...told, readerIds: w.ids('reader', 10), authorId: w.id('reader', 30) })
    await markHandedOut(ctx, { ids: [w.id('notification', 9)] })
    await trimNextInbox(ctx.app.prisma, { ...told, readerId: w.id('reader', 1) })
    await trimNextInbox(ctx.app.prisma, { ...told, tenantId: FIRST_ID })
    await forgetNotifications(sql, w.id('tenant'), w.id('reader', 3))
  },
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
    setStanding(sql, w.id('tenant'), w.id('reader', 0), {
      bannedAt: w.now,
      bannedUntil: null,
      banReason: null,
      shadowBanned: false,
      trust: 'normal',
      assignedBadges: [],
      badges: [],
    }),
  'the end of a merge': ({ sql, w }) =>
    endMerge(sql, w.id('tenant'), { id: w.id('alias', w.readers), externalId: 'a former name' }, newId()),
  "a reader's data": async ({ sql: { prisma }, w }) => {
    const [tenant, reader] = [w.id('tenant'), w.id('reader', 0)]
    const ids = (await exportComments(prisma, tenant, reader, undefined, 100)).map(({ id }) => id)
    await exportRevisions(prisma, tenant, ids)
    await exportReports(prisma, tenant, { commentId: { in: ids } })
    await exportReports(prisma, tenant, { readerId: reader })
    await exportNotes(prisma, tenant, { commentId: { in: ids } })
    await exportNotes(prisma, tenant, { readerId: reader })
    await exportReactions(prisma, tenant, reader)
    await exportAuditEntries(prisma, tenant, 'reader', [reader])
    await exportAuditEntries(prisma, tenant, 'comment', ids)
  },
  'the heartbeats of an erasure and a merge': async ({ sql, w }) => {
    await touchErasure(sql.prisma, w.id('tenant'), w.id('reader', 0), w.now)
    await touchMerge(sql.prisma, w.id('tenant'), w.id('alias', 0), w.now)
  },
  'deliveries to recall': ({ sql, w }) => recallDeliveries(sql, w.id('tenant'), w.ids('event', 50)),
  'answers that mention a reader': ({ sql, w }) => forgetInAnswers(sql, w.id('tenant'), [w.id('reader', 0)]),
  'pages that show another author': ({ sql, w }) => touchPages(sql, w.id('tenant')),
  'a locked discussion': ({ rest, w }) =>
    rest('POST /discussions/:discussionId/lock', { params: { discussionId: w.id('discussion', 0) } }),

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
    for await (const _piece of (await openExportFile(ctx, { id: w.id('export', 1) }, true)).pieces()) continue
  },

  'a page of uploads': page('GET /import-uploads'),
  'a later page of uploads': ({ rest, w }) =>
    rest('GET /import-uploads', { query: after('uploads', w.id('upload', 2)) }),
  'an upload': ({ rest, w }) => rest('GET /import-uploads/:id', { params: { id: w.id('upload', 0) } }),
  'a part of an upload': ({ ctx, w }) =>
    putPart(ctx, { id: w.id('upload', 0), n: '0', bytes: Buffer.from('12345'), digest: undefined }),
  'a completed upload': ({ rest, w }) =>
    rest('POST /import-uploads/:id/complete', { params: { id: w.id('upload', 0) } }),
  'an upload to run': ({ rest, w }) => rest('POST /import-uploads/:id/run', { params: { id: w.id('upload', 2) } }),
  'uploads that are deleted, and a new one': async ({ rest, w }) => {
    for (const n of [0, 1, 2]) await rest('DELETE /import-uploads/:id', { params: { id: w.id('upload', n) } })
    await rest('POST /import-uploads', { body: { source: 'jsonl', fileName: 'file', bytes: 5 } })
  },
  'parts and uploads to remove': async ({ app, rest, w }) => {
    await rest('DELETE /import-uploads/:id', { params: { id: w.id('upload', 0) } })
    while (await removeEnded(app)) continue
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
  'what an undo forgets': async ({ sql, w }) => {
    await forgetComments(sql, w.id('tenant'), w.ids('item', 50))
    await forgetReaders(sql, w.id('tenant'), w.ids('reader', 50))
  },
  'the steps of an import': async ({ app, sql, w }) => {
    await noteProgress(sql, w.id('tenant'), w.id('import', 0), { counts: {}, changed: { total: 0, first: [] } })
    await removeInserted(sql, w.id('tenant'), [w.id('alias', w.readers)])
    await findAuditEntries(app.prisma, w.id('tenant'), w.ids('audit', 50))
  },
  'the readers and pages of a rehearsal': async ({ app, w }) => {
    await findNamed(app, w.id('tenant'), 'reader', ['reader-7', 'nobody'], w.ids('reader', 50))
    await findNamed(app, w.id('tenant'), 'discussion', ['nobody'], w.ids('discussion', 20))
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
  'the members of entries': ({ ctx, w }) => findMember(ctx, w.id('admin', 0)),

  'the newest comments over all pages': ({ ctx, w }) => findNewest(ctx.app.prisma, w.id('tenant')),
  'the readers with most comments': ({ rest, w }) => rest('GET /analytics/top', { query: SPAN(w) }),

  'the decisions of a team': ({ rest, w }) => rest('GET /analytics/team', { query: SPAN(w) }),
  'the names of members': ({ ctx, w }) => nameOfMember(ctx, w.id('admin', 0)),
  'a decision': ({ sql, w }) => recordDecision(sql, doerIn(w), decidedIn(w), { action: 'reject', now: w.now }),
  'another decision': ({ sql, w }) =>
    recordDecision(
      sql,
      doerIn(w),
      { ...decidedIn(w), holdReason: null, reportCount: 1 },
      { action: 'approve', now: w.now },
    ),
  'a decision on a reported comment': ({ sql, w }) =>
    recordDecision(sql, doerIn(w), { ...decidedIn(w), holdReason: 'reports' }, { action: 'reject', now: w.now }),

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
    ['identity', 'classifier', 'mail'].flatMap((kind) => [
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
  'a new tenant': ({ app }) => tenants.createTenant(app, { slug: 'new' }),
  'another admin': ({ app, w }) => tenants.createAdmin(app, w.id('tenant'), 'new@example.com', 'a password'),
  'another password': ({ app, w }) => setPassword(app, w.id('tenant'), '0@example.com', 'a password'),
  'an owner who has an account': ({ app, w }) => tenants.createAdmin(app, w.id('tenant', 1), '2@example.com'),
  'a login that succeeds': async ({ app, rest, w }) => {
    const password = 'a password'
    await setPassword(app, w.id('tenant'), '2@example.com', password)
    await rest('POST /admin/auth/login', { body: { email: '2@example.com', password } })
  },
  'another own password': async ({ app, rest, sql, w }) => {
    const current = 'a password'
    await setPassword(app, w.id('tenant'), '0@example.com', current)
    await signInAgain(sql, w, 0)
    await rest('POST /admin/auth/password', { body: { current, new: 'another password' } })
  },
  'a switch to another tenant': ({ rest }) => rest('POST /admin/auth/switch', { body: { tenant: 'large' } }),
  'an invitation, and its end': async ({ app, rest, w }) => {
    const changer = operatorOf(w.id('tenant'))
    const invited = { email: 'new@example.com', role: 'analyst', name: null } as const
    const { member } = await invite(app, changer, invited)
    const { invitation } = await inviteAgain(app, changer, { id: member.id })
    const token = new URL(invitation.url).hash.slice(1)
    await rest('POST /admin/auth/accept', { body: { token, name: 'New', password: 'a password' } })
    await changeMember(app, changer, { id: member.id }, { role: 'editor' })
    await removeMember(app, changer, { id: w.id('admin', 2) })
  },
  'a page of members': page('GET /admin/members'),
  'a second factor': async ({ app, ctx, sql, w }) => {
    const accountId = w.id('admin', 2)
    const { tenant, actor } = requireCaller(ctx)
    const signInId = w.id('signIn', 2)
    const own = { ...(actor as MemberActor), id: accountId, accountId, signInId, email: '2@example.com' }
    const asOwn: Ctx = { ...ctx, caller: { tenant, actor: own, identity: null } }
    const { secret } = await beginTotp(asOwn)
    const { recoveryCodes } = await confirmTotp(asOwn, { code: codeOf(secret) })
    for (const code of [codeOf(secret, 1), recoveryCodes[0] ?? ''])
      await (
        await checkSecondFactor(app, accountId, code)
      )(sql)
    await hasSecondFactor(app, accountId)
    await signInAgain(sql, w, 2)
    await removeTotp(asOwn)
  },
  'all members': ({ app }) => listAllMembers(app, null),
  'the members of a tenant': ({ app, w }) => listAllMembers(app, w.id('tenant')),
  'a suspension and its end': async ({ app, w }) => {
    await suspendTenant(app, w.id('tenant'))
    await resumeTenant(app, w.id('tenant'))
  },
}

/** The sign-in of an admin, which a change before has ended. */
const SIGN_IN = unnamed("INSERT INTO sign_ins (tenant_id, id, member_id, expires_at) VALUES ($1, $2, $3, '2100-01-01')")
const signInAgain = (sql: TxSql, w: World, n: number): Promise<unknown> =>
  sql(SIGN_IN, [w.id('tenant'), w.id('signIn', n), w.id('admin', n)])

/** What an ask may end with: the world has no such password, and no file of an export. */
const ENDS: Readonly<Record<string, RegExp>> = {
  'a login': /wrong/,
  'the file of an export': /has been deleted/,
}

const SOURCE = join(import.meta.dirname, '../../src')

/** What `removeOfDeletedTenant` empties. */
const EMPTIED = [
  ...readFileSync(join(SOURCE, 'domains/tenant-removal/remove.ts'), 'utf8').matchAll(
    /prisma\.(\w+)\.deleteMany\(some\)/g,
  ),
].map(([, name]) => name)

/** Calls of Prisma that nothing here makes, and why. */
export const NOT_ASKED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      'discussions/remove.ts discussion.deleteMany',
      'staff/members-of-deleted.ts member.findMany',
      'staff/members-of-deleted.ts member.deleteMany',
      'sites/ended-keys.ts site.findMany',
      'sites/ended-keys.ts site.deleteMany',
      'tenants/delete.ts tenant.findUniqueOrThrow',
      'tenants/delete.ts tenant.update',
      'tenant-removal/remove.ts tenant.deleteMany',
      'tenant-removal/remove.ts tenant.findFirst',
      'tenant-removal/remove.ts tenant.updateMany',
    ].map((call) => [`domains/${call}`, 'is of the deletion of a tenant: by keys, some rows at a time']),
  ),
  ...Object.fromEntries(
    EMPTIED.map((name) => [
      `domains/tenant-removal/remove.ts ${name}.deleteMany`,
      'removes some rows of a deleted tenant',
    ]),
  ),
  ...Object.fromEntries(
    [
      'tenant.findMany',
      'discussion.groupBy',
      ...['discussion', 'reader', 'member', 'apiKey', 'webhookEndpoint'].map((name) => `${name}.count`),
    ].map((call) => [`domains/tenants/list.ts ${call}`, 'counts what tenants have, for an operator']),
  ),
  'worker/notices.ts noticeChannel.findMany': 'reads those that wait longest, by an index, 20 at a time',
  'worker/notices.ts noticeChannel.updateMany': 'leases a channel, and notes what it was told, by its key',
  'domains/moderation/judge.ts comment.findFirst': 'reads the comment above a reply, by its key',
  'domains/readers/key-sets.ts identityKeySet.updateMany': 'makes the key set of a tenant due, by its key',
  'domains/readers/ended-tokens.ts guest.deleteMany': 'forgets a guest, by a unique key',
  'domains/readers/ended-tokens.ts guestRequest.deleteMany': 'forgets what an address has asked within an hour',
  'domains/guests/tokens.ts guestToken.updateMany': 'renews a token once a day, by its key',
  'transfer/import/own.ts readerMute.createMany': 'writes a batch of an import, by keys',
  'transfer/rehearsal/predict-batch.ts readerMute.findMany': 'reads whom some readers have muted, by keys, for a batch',
  'domains/sites/ended-keys.ts endedSiteKey.deleteMany': 'forgets the oldest of 1 000 of a tenant, by an index',
  'cli/cli.ts apiKey.findMany': 'lists all keys of a tenant, for an operator',
  ...Object.fromEntries(
    ['banSweep.findFirst', 'banSweep.updateMany', 'comment.count', 'comment.findMany'].map((call) => [
      `domains/moderation/ban-sweep.ts ${call}`,
      "is of a worker, which reads all of one reader's comments by an index, or a ban by its key",
    ]),
  ),
  'domains/merges/move.ts comment.findMany': 'reads up to 100 comments of a merge by their keys',
  'domains/moderation/ban-sweep.ts readerMerge.findFirst': 'is of a worker, which looks for a merge into one reader',
  'domains/moderation/ban-sweep.ts reader.findUnique': 'is of a worker, which reads when a ban ends by its key',
  'domains/moderation/ban-sweep.ts commentDecision.findFirst': 'reads the decisions on one comment, by its key',
  'domains/readers/records.ts readerMerge.findUnique': 'reads into whom a reader was merged, by a key',
  'domains/comments/slow-mode.ts comment.findFirst': 'reads one of what a reader has written within an hour',
  'domains/comments/slow-mode.ts discussion.findUnique': 'reads a discussion by its key',
  ...Object.fromEntries(
    [
      'provider.ts oidcSecret.findUnique',
      'settings.ts oidcSecret.create',
      'sign-on.ts member.createManyAndReturn',
      'sign-on.ts member.findFirst',
      'sign-on.ts member.update',
      'sign-on.ts tenant.findUnique',
    ].map((call) => [`domains/staff/sign-on/${call}`, 'is of a sign-on, which asks a provider: by unique keys']),
  ),
  'domains/staff/sign-on/offered.ts oidcSecret.findFirst': 'reads any row, and keeps the answer for seconds',
  'domains/readers/mutes/mutes.ts readerMute.findFirst': 'reads any mute of a tenant, and keeps the answer for seconds',
  'domains/discussions/remove.ts discussion.findFirst':
    'reads the one that waits longest, by an index of those that wait',
  'domains/discussions/remove.ts discussion.updateMany': 'notes by its key when a worker goes on with a discussion',
  'transfer/store/named-sql.ts discussion.findMany': 'reads discussions that an import brings back, by their keys',
  'transfer/store/named-sql.ts discussion.updateMany': 'writes a discussion that an import brings back, by its key',
  ...Object.fromEntries(
    [
      'work.ts import.findUnique',
      'work.ts importUpload.findUnique',
      'work.ts importUpload.updateMany',
      'work.ts importUploadPart.findUnique',
    ].map((call) => [`transfer/uploads/${call}`, 'is of a worker that reads an upload: by its key']),
  ),
  'transfer/uploads/work.ts importUpload.findFirst': 'reads the one that waits longest, by an index of those that wait',
  'transfer/export/make.ts tenantExport.updateMany': 'marks an export that failed, by its key',
  'domains/staff/seen.ts member.updateMany': 'notes by its key when a member was last seen, after the request',
}

const WALKS = "walks through the endpoint's deliveries, newest first, until a page is full"

/** What may make Prisma read more where there is more, and why. */
export const GROWS_IN_PRISMA: Readonly<Record<string, string>> = {
  'deliveries that are pending': WALKS,
  'deliveries of a type without any': WALKS,
  "a reader's data": 'returns all that a reader has',
  'what an undo forgets': 'is run by the command line alone, by an undo',
  'answers that mention a reader': 'empties all that mention a reader',
  'the decisions of a team': 'sums up the days of the period: at most 92',
  'new documents': "counts the tenant's documents, of which there are at most 10 000",
  'the inbox of a reader': 'exports and marks all that a reader is told, of which at most 1000 are kept',
  'mutes of a reader': 'counts the mutes of a reader, of which there are at most 1000',
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
  const scope = { effects: [], erasedReaders: new Set<string>(), asked: new Map() }
  return { ...app, root: app, db, late: readNow(db), prisma: sql.prisma, scope }
}

function askingOf(app: App, sql: TxSql, w: World): Asking {
  const active = { suspendedAt: null, suspensionReason: null, mailSecretUntil: Infinity }
  const tenant = {
    id: w.id('tenant'),
    slug: 'large',
    settings: tenantSettings(w.settings),
    discussionsDeleted: 0,
    ...active,
  }
  const admin = w.id('admin', 0)
  const expiresAt = new Date(w.now.getTime() + 3_600_000)
  const capabilities = new Set(CAPABILITIES)
  const own = {
    id: admin,
    signInId: w.id('signIn', 0),
    email: '0@example.com',
    name: null,
    accountId: admin,
    lacksSecondFactor: false,
  }
  const actor = { kind: 'admin', role: 'owner', capabilities, expiresAt, ...own } as const
  const ctx: Ctx = { app, requestId: 'scale', address: null, caller: { tenant, actor, identity: null } }
  const rest = async (title: string, { params = {}, query = {}, body }: Input = {}): Promise<unknown> => {
    const route = ROUTES.find(({ method, path }) => `${method} ${path}` === title)
    if (route === undefined) throw new Error(`there is no route ${title}`)
    return compileRoute(schema, route).answer({ ...ctx }, { params, query, body })
  }
  return { ctx, app, sql, w, rest }
}

const METHODS =
  'findMany|findFirst|findUnique|findFirstOrThrow|findUniqueOrThrow|count|aggregate|groupBy|create|createMany'
const MODELS = Object.values(Generated.ModelName).map((name) => name[0]?.toLowerCase() + name.slice(1))
const CALL = new RegExp(
  `(?<![\\w$])(${MODELS.join('|')})\\s*\\.\\s*(${METHODS}|createManyAndReturn|update|updateMany|updateManyAndReturn|delete|deleteMany|upsert)\\(`,
  'g',
)

/** How often each file of the service calls a method of a model. */
export function callsInSource(): Map<string, number> {
  const found = new Map<string, number>()
  for (const file of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || /^(generated|console|clients)\//.test(file)) continue
    const text = readFileSync(join(SOURCE, file), 'utf8')
    if (!/\bprisma\b/i.test(text)) continue
    for (const [, model, method] of text.matchAll(CALL)) {
      const call = `${file} ${model}.${method}`
      found.set(call, (found.get(call) ?? 0) + 1)
    }
  }
  return found
}
