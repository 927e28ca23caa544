import { isId } from '../../core/ids.ts'
import { reactionType } from '../../core/settings/tenant.ts'
import { charactersIn, hasAtMost, nameOrNull, readerIdSchema, trimMarkdown } from '../../core/input/texts.ts'
import { check } from '../../core/input/validate.ts'
import { carriedOf, MAX_BODY_LENGTH } from '../../domains/comments/fields.ts'
import { newExternalIdSchema } from '../../domains/discussions/fields.ts'
import { shownBadges } from '../../domains/readers/badges/known.ts'
import { claimedAs, MAX_NAME_LENGTH } from '../../domains/readers/fields.ts'
import { isGuestId } from '../../domains/readers/guest-ids.ts'
import { isBlank, renderMarkdown } from '../../domains/comments/text/markdown.ts'
import { withLowerCaseIds, writtenMentions } from '../../domains/comments/text/mentions.ts'
import { digestOf, normalizeBody } from '../../domains/comments/text/normalize.ts'
import { REPORT_REASONS } from '../../domains/moderation/reports.ts'
import {
  type CommentItem,
  type DiscussionItem,
  type HeaderItem,
  item as itemSchema,
  type Item,
  type ReactionItem,
  type ReaderItem,
  type ReportItem,
  type SettingsItem,
  unknownIn,
} from '../item.ts'
import { idAt, keyOf } from '../../domains/imports/keys.ts'
import { identifyPage } from '../pages.ts'
import {
  begin,
  type Checking,
  createdAtOf,
  dateOf,
  externalIdOf,
  inWords,
  keyOrNull,
  liesAhead,
  ofExport,
  pastAt,
  type PastField,
  pastOf,
  Refused,
  type Rules,
  shortOf,
  urlOf,
} from './checking.ts'
import type {
  ImportedComment,
  ImportedDiscussion,
  ImportedFormerReader,
  ImportedNote,
  ImportedItem,
  ImportedReaction,
  ImportedReader,
  ImportedReport,
  ImportedRevision,
  OwnItem,
} from '../store/imported.ts'

/** An item to store, with the changes that were made to it; or why it is refused. */
export type Checked = { row: ImportedItem | OwnItem | HeaderItem; changes: string[] } | { refused: string }

/** Checks an item of a source, of which only the kind is known. */
export function checkItem(given: { kind: string }, place: string, rules: Rules): Checked {
  // A missing field may be a misspelt one.
  const refuse = (reason: string): Checked => {
    const unknown = unknownIn(given)
    return { refused: unknown === null ? reason : `${reason}; it has ${unknown}` }
  }
  const parsed = check(itemSchema, given)
  if ('errors' in parsed) return refuse(inWords(parsed.errors))
  const changes: string[] = []
  try {
    return { row: importedOf(parsed.data, { ...rules, place, changes }), changes }
  } catch (error) {
    if (error instanceof Refused) return refuse(error.message)
    throw error
  }
}

function importedOf(item: Item, checking: Checking): ImportedItem | OwnItem | HeaderItem {
  switch (item.kind) {
    case 'reader':
      return readerOf(item, checking)
    case 'discussion':
      return discussionOf(item, checking)
    case 'comment':
      return commentOf(item, checking)
    case 'reaction':
      return reactionOf(item, checking)
    case 'report':
      return reportOf(item, checking)
    case 'header':
      return item
    default:
      if (!checking.keepsIds) throw new Refused('comes with an export of this service, which begins with a header')
      if ('id' in item && liesAhead(item.id, checking)) throw new Refused('id: lies in the future')
      return item.kind === 'settings' ? settingsOf(item, checking) : item
  }
}

/** Settings of `staff` are an owner's, and uploads are any admin's. */
function settingsOf(item: SettingsItem, { setsStaff, changes }: Checking): SettingsItem {
  const { staff, ...settings } = item.settings
  if (setsStaff || staff === undefined) return item
  changes.push('leaves out staff, which only an owner changes')
  return { ...item, settings }
}

// The same limits as in the API.
const MAX_TITLE_LENGTH = 500
const MAX_REASON_LENGTH = 500
const MAX_NOTE_LENGTH = 1000
const MODERATORS_NOTE_LENGTH = 2000

function readerOf(item: ReaderItem, checking: Checking): ImportedReader {
  const { source, authors } = checking
  const { ban } = item
  const createdAt = createdAtOf(item, checking)
  const own = authors.get((item.email ?? '').toLowerCase()) ?? authors.get(item.id)
  return {
    ...begin(item, keyOf(source, 'reader', item.id), checking),
    kind: 'reader',
    externalId: readerIdOf(own ?? item.externalId ?? `${source}:${item.id}`, checking),
    ...claimedAs(({ name, claim }) =>
      claim === 'name' ? nameOrNull(shortOf(item[name], MAX_NAME_LENGTH, name, checking)) : urlOf(item[name]),
    ),
    profileIssuedAt: ofExport('profileIssuedAt', pastOf('profileIssuedAt', item.profileIssuedAt, checking), checking),
    bannedAt: ban == null ? null : (pastOf('ban', ban.at, checking) ?? createdAt ?? checking.now),
    bannedUntil: dateOf(ban?.until),
    banReason: shortOf(ban?.reason, MAX_REASON_LENGTH, 'reason of the ban', checking) || null,
    shadowBanned: ban?.shadow ?? false,
    trust: item.trust ?? 'normal',
    ...badgesOf(item),
    formerly: formerlyOf(item, checking),
    notes: notesOf(item, checking),
    createdAt,
  }
}

/** Guests are of this service alone: only an export of it has them. */
function readerIdOf(given: string, { keepsIds }: Checking): string {
  const externalId = externalIdOf(given, readerIdSchema)
  if (!keepsIds && isGuestId(externalId)) throw new Refused('externalId: is the id of a guest of this service')
  return externalId
}

function badgesOf(item: ReaderItem): Pick<ImportedReader, 'badges' | 'assignedBadges' | 'claimedBadges'> {
  const [assignedBadges, claimedBadges] = [[...new Set(item.assignedBadges)], [...new Set(item.claimedBadges)]]
  return { badges: shownBadges(assignedBadges, claimedBadges), assignedBadges, claimedBadges }
}

function formerlyOf({ formerly }: ReaderItem, checking: Checking): ImportedFormerReader[] {
  return (ofExport('formerly', formerly ?? null, checking) ?? []).map(({ id, externalId, mergedAt }) => {
    if (!isId(id)) throw new Refused('formerly: id: is not a UUID')
    return {
      key: keyOf(checking.source, 'reader', id),
      id,
      externalId: externalIdOf(externalId),
      mergedAt: pastAt('formerly', new Date(mergedAt), checking),
    }
  })
}

function notesOf({ notes }: Pick<CommentItem, 'notes'>, checking: Checking): ImportedNote[] {
  // Most items have none.
  if (notes === undefined) return []
  return (ofExport('notes', notes, checking) ?? []).map(({ id, text, actorKind, actorId, createdAt }) => {
    if (!isId(id) || (actorId != null && !isId(actorId))) throw new Refused('notes: id: is not a UUID')
    const shown = shortOf(text.trim(), MODERATORS_NOTE_LENGTH, 'note of a moderator', checking)
    if (!shown) throw new Refused('notes: has no text')
    const at = pastAt('notes', new Date(createdAt), checking)
    return { id, text: shown, actorKind, actorId: actorId ?? null, createdAt: at }
  })
}

function discussionOf(item: DiscussionItem, checking: Checking): ImportedDiscussion {
  const { source, changes } = checking
  const { externalId, url, lacksAddress, changes: changesOfPage } = identifyPage(item, source, checking)
  const past = (field: PastField<DiscussionItem>): Date | null => pastOf(field, item[field], checking)
  changes.push(...changesOfPage)
  return {
    ...begin(item, keyOf(source, 'discussion', item.id), checking),
    kind: 'discussion',
    externalId: externalIdOf(externalId, newExternalIdSchema),
    title: shortOf(item.title, MAX_TITLE_LENGTH, 'title', checking),
    url,
    lacksAddress,
    state: item.state ?? 'open',
    seq: ofExport('seq', item.seq ?? null, checking) ?? 0,
    createdAt: createdAtOf(item, checking),
    updatedAt: past('updatedAt'),
    lastCommentedAt: ofExport('lastCommentedAt', past('lastCommentedAt'), checking),
    activeAt: ofExport('activeAt', past('activeAt'), checking),
    moderationMode: item.moderationMode ?? null,
    closesAt: dateOf(item.closesAt),
    slowModeSeconds: item.slowModeSeconds ?? null,
    autoClosedAt: past('autoClosedAt'),
  }
}

function commentOf(item: CommentItem, checking: Checking): ImportedComment {
  const { source } = checking
  const status = item.status ?? 'approved'
  const isDeleted = status === 'deleted'
  const createdAt = createdAtOf(item, checking) ?? checking.now
  const past = (field: PastField<CommentItem>): Date | null => pastOf(field, item[field], checking)
  const revisions = revisionsOf(item, checking)
  const revision = Math.max(item.revision ?? 1, revisions.length + 1)
  const key = keyOf(source, 'comment', item.id)
  const { place, keptId } = begin(item, key, checking)
  const { body, bodyHtml, textDigest } = textOf(item.body, isDeleted)
  const editedAt = item.editedAt === undefined ? (revisions.at(-1)?.replacedAt ?? null) : past('editedAt')
  // Field by field, because there are many of these: V8 copies a spread object slowly.
  return {
    ...carriedOf(item),
    key,
    place,
    keptId,
    item,
    body,
    bodyHtml,
    textDigest,
    kind: 'comment',
    id: keptId ?? idAt(key, createdAt),
    discussionKey: keyOf(source, 'discussion', item.discussionId),
    parentKey: keyOrNull(source, 'comment', item.parentId),
    authorKey: keyOrNull(source, 'reader', item.authorId),
    status,
    pinnedAt: status === 'approved' ? past('pinnedAt') : null,
    editedAt,
    deletedAt: isDeleted ? (past('deletedAt') ?? editedAt ?? createdAt) : null,
    firstApprovedAt: item.firstApprovedAt === undefined && status === 'approved' ? createdAt : past('firstApprovedAt'),
    holdReason: item.holdReason ?? null,
    flagged: item.flagged ?? false,
    decision: item.decision ?? null,
    holdDetails: item.holdDetails ?? null,
    reviewedAt: past('reviewedAt'),
    revision:
      revision > revisions.length + 1 ? (ofExport('revision', revision, checking) ?? revisions.length + 1) : revision,
    revisions,
    notes: notesOf(item, checking),
    createdAt,
  }
}

type Text = Pick<ImportedComment, 'body' | 'bodyHtml' | 'textDigest'>

/** The text of a comment, rendered here: HTML from the source is not trusted. */
function textOf(given: string | null | undefined, isDeleted: boolean): Text {
  const body = given == null ? '' : bodyOf(given)
  if (body === '') {
    if (!isDeleted) throw new Refused('has no text')
    return { body: null, bodyHtml: null, textDigest: null }
  }
  // A reader whom the tenant does not have is shown without a name.
  const bodyHtml = renderMarkdown(body, new Set(writtenMentions(body)))
  if (!isDeleted && isBlank(bodyHtml)) throw new Refused('has no text that can be seen')
  return { body, bodyHtml, textDigest: digestOf(normalizeBody(body)) }
}

function bodyOf(given: string): string {
  const body = withLowerCaseIds(trimMarkdown(given))
  if (!hasAtMost(body, MAX_BODY_LENGTH)) {
    throw new Refused(`has a text of ${charactersIn(body)} characters as Markdown: ${MAX_BODY_LENGTH} are the most`)
  }
  return body
}

function revisionsOf({ revisions = [], editedAt }: CommentItem, checking: Checking): ImportedRevision[] {
  return revisions.map(({ body, createdAt, replacedAt, wasPublic = false }, index) => ({
    body: bodyOf(body),
    wasPublic,
    replacedAt: pastAt(
      'revisions',
      new Date(replacedAt ?? revisions[index + 1]?.createdAt ?? editedAt ?? createdAt),
      checking,
    ),
  }))
}

function reactionOf(item: ReactionItem, checking: Checking): ImportedReaction {
  const { keepsIds, settings } = checking
  const { type, counted = true } = item
  const on = onComment(counted ? 'reaction' : 'shadow_reaction', item, checking)
  if (type === null && counted) throw new Refused('has no type')
  const isKnown = type === null || settings.reactionTypes.includes(type)
  // A type that is no longer in the tenant's list stays on comments that have it.
  if (!isKnown && !(keepsIds && reactionType.safeParse(type).success)) {
    throw new Refused('is of a type that is not among the reactionTypes of the tenant')
  }
  return { ...on, kind: 'reaction', type, counted }
}

function reportOf(item: ReportItem, checking: Checking): ImportedReport {
  return {
    ...onComment('report', item, checking),
    kind: 'report',
    reason: REPORT_REASONS.find((reason) => reason === item.reason) ?? 'other',
    note: shortOf(item.note, MAX_NOTE_LENGTH, 'note', checking) || null,
    counted: item.counted ?? true,
    answered: item.answered ?? false,
  }
}

function onComment(
  kind: 'reaction' | 'shadow_reaction' | 'report',
  item: ReactionItem | ReportItem,
  checking: Checking,
) {
  const { source, place } = checking
  return {
    key: keyOf(source, kind, item.commentId, item.readerId),
    place,
    keptId: null,
    item,
    commentKey: keyOf(source, 'comment', item.commentId),
    readerKey: keyOf(source, 'reader', item.readerId),
    createdAt: createdAtOf(item, checking),
  }
}
