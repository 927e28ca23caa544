import type { Doer } from '../../core/audit.ts'
import { newId } from '../../core/ids.ts'
import type { TxSql } from '../../core/database/database.ts'
import type { LockedComment } from './locked.ts'
import type { HoldReason } from './rules.ts'

export const DECIDED_ACTIONS = ['approve', 'reject', 'delete', 'review'] as const

type DecidedAction = (typeof DECIDED_ACTIONS)[number]

/**
 * Records a decision on a comment for the team's analytics. `comment` is as it was before. Only a
 * comment that awaits a decision gets a further one: a change of mind takes the place of the one
 * before, and keeps its rule and its wait. Those of moderators and of the service stand apart.
 */
export async function recordDecision(
  sql: TxSql,
  { tenantId, actor }: Doer,
  comment: LockedComment,
  { action, now }: { action: DecidedAction; now: Date },
): Promise<void> {
  const { commentDecision } = sql.prisma
  const of = { tenantId, commentId: comment.id }
  const made = { actorKind: actor.kind, actorId: actor.id, action, at: now }
  const rule = action === 'review' ? null : ruleOf(comment)
  if (actor.kind !== 'system' && action !== 'review' && rule === null && comment.status !== 'pending') {
    const where = { ...of, actorKind: { not: 'system' } }
    const last = await commentDecision.findFirst({ where, orderBy: { id: 'desc' }, select: { id: true } })
    if (last !== null) {
      await commentDecision.updateMany({ where: { ...of, ...last }, data: made })
      return
    }
  }
  const since = action === 'review' ? null : await awaitingSince(sql, tenantId, comment, rule)
  const waitSeconds = since === null ? null : roundWait((now.getTime() - since.getTime()) / 1000)
  const section = sectionOf(comment.discussionUrl)
  await commentDecision.create({ data: { ...of, ...made, id: newId(), rule, section, waitSeconds } })
}

/** The rule that brought a comment to a moderator; null for none. */
function ruleOf({ holdReason, isAsked, reportCount, reportsAnswered }: LockedComment): HoldReason | null {
  // A classifier that has not answered yet holds nothing.
  if (holdReason !== null && !(isAsked && holdReason === 'classifier')) return holdReason
  return reportCount > reportsAnswered ? 'reports' : null
}

/** Since when a comment awaits a decision; null if it does not, or nothing tells. */
async function awaitingSince(
  { prisma }: TxSql,
  tenantId: string,
  { id, status, authorId, createdAt, editedAt, firstApprovedAt, reportsAnswered, flagged }: LockedComment,
  rule: HoldReason | null,
): Promise<Date | null> {
  if (rule === 'reports') {
    const first = await prisma.report.findFirst({
      where: { tenantId, commentId: id, counted: true },
      orderBy: [{ createdAt: 'asc' }, { readerId: 'asc' }],
      skip: reportsAnswered,
      select: { createdAt: true },
    })
    return first?.createdAt ?? null
  }
  if (status !== 'pending' && !flagged) return null
  if (firstApprovedAt === null) return createdAt
  if (rule === 'author_banned') {
    const where = { tenantId, readerId: authorId ?? id }
    return (await prisma.banSweep.findFirst({ where, select: { startedAt: true } }))?.startedAt ?? null
  }
  // It was in view before: its author's last edit took it out, or flagged it.
  return editedAt ?? createdAt
}

/** A number of seconds to two digits: at most 5 % off, and some hundred values up to a year. */
export function roundWait(seconds: number): number {
  const whole = Math.max(0, Math.round(seconds))
  const step = 10 ** Math.max(0, String(whole).length - 2)
  return Math.round(whole / step) * step
}

const MAX_SECTION_LENGTH = 200

/**
 * The section of a discussion: the first segment of the path of its URL, as it is written there;
 * empty for the front page, null without a URL.
 */
export function sectionOf(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null
  return new URL(url).pathname.split('/', 2)[1]?.slice(0, MAX_SECTION_LENGTH) ?? ''
}
