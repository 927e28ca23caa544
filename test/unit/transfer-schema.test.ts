import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect, test } from 'vitest'

import { ROOT } from '../../src/core/process/root.ts'
import {
  auditItem,
  commentItem,
  discussionItem,
  endpointItem,
  item,
  muteItem,
  noticeItem,
  reactionItem,
  readerItem,
  reportItem,
} from '../../src/transfer/item.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'

const ajv = new Ajv2020({ strict: false })
formats.default(ajv)
const validate = ajv.compile(
  JSON.parse(readFileSync(join(ROOT, 'docs/reference/transfer.schema.json'), 'utf8')) as object,
)

const comment = { kind: 'comment', id: '1', discussionId: '7', createdAt: '2015-03-01T10:00:00+02:00' }

test.each([
  [true, { kind: 'reader', id: '42', name: 'Ann', email: 'ann@example.com' }],
  [true, { ...comment, body: 'First', revisions: [{ body: 'Before', createdAt: comment.createdAt }] }],
  [true, { kind: 'reaction', commentId: '1', readerId: '42', type: 'like' }],
  [true, { kind: 'reaction', commentId: '1', readerId: '42', type: null, counted: false }],
  [false, { kind: 'reaction', commentId: '1', readerId: '42' }],
  [false, { ...comment, createdAt: '2015-03-01 10:00' }],
  [false, { ...comment, status: 'spam' }],
  [false, { kind: 'reader' }],
  [false, { kind: 'page', id: '7' }],
])('the JSON Schema agrees with the import: %s of %j', (isValid, given) => {
  expect([validate(given), item.safeParse(given).success]).toEqual([isValid, isValid])
})

interface Table {
  columns: Readonly<Record<string, string>>
  item: { shape: object }
  /** Columns that stand under another name. */
  named?: Readonly<Record<string, string>>
  /** Columns that are made from others, or are not of the same worth in another tenant. */
  leftOut?: readonly string[]
}

const TABLES: Readonly<Record<string, Table>> = {
  readers: {
    columns: Prisma.ReaderScalarFieldEnum,
    item: readerItem,
    named: { bannedAt: 'ban', bannedUntil: 'ban', banReason: 'ban', shadowBanned: 'ban' },
    leftOut: ['erasingAt', 'badges'],
  },
  discussions: {
    columns: Prisma.DiscussionScalarFieldEnum,
    item: discussionItem,
    leftOut: ['commentCount', 'deletedAt', 'removalDueAt', 'scrubs'],
  },
  comments: {
    columns: Prisma.CommentScalarFieldEnum,
    item: commentItem,
    leftOut: [
      'depth',
      'bodyHtml',
      'replyCount',
      'reactionCounts',
      'reactionCount',
      'reportCount',
      'reportsAnswered',
      'textDigest',
    ],
  },
  reactions: {
    columns: Prisma.ReactionScalarFieldEnum,
    item: reactionItem,
    named: { updatedAt: 'createdAt' },
    leftOut: ['previousType'],
  },
  shadow_reactions: {
    columns: Prisma.ShadowReactionScalarFieldEnum,
    item: reactionItem,
    named: { updatedAt: 'createdAt' },
  },
  reports: { columns: Prisma.ReportScalarFieldEnum, item: reportItem },
  reader_mutes: { columns: Prisma.ReaderMuteScalarFieldEnum, item: muteItem },
  webhook_endpoints: {
    columns: Prisma.WebhookEndpointScalarFieldEnum,
    item: endpointItem,
    leftOut: [
      'state',
      'disabledReason',
      'consecutiveFailures',
      'circuitOpenUntil',
      'countsFrom',
      'recoveredAt',
      'challenge',
      'verificationDueAt',
      'lastVerificationAt',
      'lastVerificationOk',
      'lastVerificationError',
      'lastFailureAt',
      'lastFailure',
      'pausedAt',
      'pausedUntil',
      'updatedAt',
    ],
  },
  notice_channels: {
    columns: Prisma.NoticeChannelScalarFieldEnum,
    item: noticeItem,
    named: { kind: 'form', causes: 'on' },
    leftOut: ['sealed', 'told', 'dueAt', 'failures', 'lastSentAt', 'lastError'],
  },
  notes: {
    columns: Prisma.NoteScalarFieldEnum,
    item: { shape: readerItem.shape.notes.unwrap().element.shape },
    leftOut: ['readerId', 'commentId'],
  },
  audit_log: { columns: Prisma.AuditEntryScalarFieldEnum, item: auditItem, leftOut: ['importId'] },
}

test.each(Object.entries(TABLES))(
  'an export has every column of %s',
  (_name, { columns, item: { shape }, ...table }) => {
    const { named = {}, leftOut = [] } = table
    const missing = Object.keys(columns).filter((column) => !((named[column] ?? column) in shape))
    expect(missing.sort()).toEqual(['tenantId', ...leftOut].sort())
  },
)
