import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { grouped } from '../../core/grouped.ts'
import type { Id } from '../../core/ids.ts'
import { atMost, noNul } from '../../core/input/texts.ts'
import { validate } from '../../core/input/validate.ts'
import { checkKept, type Period, type PeriodArgs, periodOf } from './period.ts'

/** How long comments waited for a decision, in seconds rounded to two digits. */
export interface Waits {
  /** How many decisions were on a comment that awaited one. */
  count: number
  p50Seconds: number | null
  p90Seconds: number | null
  longestSeconds: number | null
}

/** Decisions by what they were. */
export interface Decisions {
  approved: number
  rejected: number
  deleted: number
  reviewed: number
  waits: Waits
}

type DeciderKind = 'admin' | 'key' | 'system'

/** Who has decided: a key, a member or the service, as in the audit log. */
export interface Decider {
  actorKind: DeciderKind
  actorId: Id | null
  decisions: Decisions
}

/** A rule by its hold reason: how often people found it right, and how often wrong. */
export interface RuleRecord {
  reason: string
  right: number
  wrong: number
  waits: Waits
}

export interface SectionRecord {
  section: string | null
  decisions: Decisions
}

export interface Team extends Period {
  totals: Decisions
  deciders: Decider[]
  rules: RuleRecord[]
  sections: SectionRecord[]
}

// 92 days at most, as for the top lists: every decision of the period is read.
const RULE = { interval: 'day', usual: 30, most: 92 } as const

/** The most sections of an answer: on some sites every page is a section of its own. */
export const TEAM_SECTIONS = 50

export const sectionSchema = noNul(atMost(200, z.string()))

interface TeamArgs extends PeriodArgs {
  section?: string | null | undefined
  /** Whose decisions the totals, rules and sections count. */
  by?: DeciderKind | null | undefined
}

/**
 * The decisions on comments in a period of days, by who decided, by rule and by section. Throws
 * `validation_failed`, also for days that are no longer kept.
 */
export async function getTeam(ctx: Ctx, args: TeamArgs): Promise<Team> {
  const { tenant } = requireCaller(ctx)
  const { section } = validate(z.object({ section: sectionSchema.nullish() }), { section: args.section })
  const now = new Date()
  const period = periodOf(args, RULE, now)
  checkKept(period, tenant.settings.analyticsRetentionDays, now)
  const all = { tenantId: tenant.id, at: { gte: period.from, lt: period.to }, ...(section != null && { section }) }
  const where = { ...all, actorKind: args.by ?? 'admin' }
  return ctx.app.late.transaction(async ({ prisma: { commentDecision } }) => {
    const byDecider = await commentDecision.groupBy({
      by: ['actorKind', 'actorId', 'action', 'waitSeconds'],
      where: all,
      _count: true,
    })
    const byRule = await commentDecision.groupBy({
      by: ['rule', 'action', 'waitSeconds'],
      where: { ...where, rule: { not: null } },
      _count: true,
    })
    const sections = await commentDecision.groupBy({
      by: ['section'],
      where,
      orderBy: [{ _count: { id: 'desc' } }, { section: 'asc' }],
      take: TEAM_SECTIONS,
    })
    const names = sections.flatMap((each) => each.section ?? [])
    const bySection = await commentDecision.groupBy({
      by: ['section', 'action', 'waitSeconds'],
      where: { AND: [where, { OR: [{ section: { in: names } }, { section: null }] }] },
      _count: true,
    })
    const kindOf = new Map(byDecider.map(({ actorId, actorKind }) => [actorId, actorKind]))
    const groupsOf = grouped(bySection, (group) => group.section)
    return {
      ...period,
      totals: decisionsOf(byDecider.filter(({ actorKind }) => actorKind === where.actorKind)),
      deciders: mostFirst(grouped(byDecider, ({ actorId }) => actorId)).map(([actorId, groups]) => ({
        // Only values of the type were ever stored.
        actorKind: (kindOf.get(actorId) ?? 'system') as DeciderKind,
        actorId,
        decisions: decisionsOf(groups),
      })),
      rules: mostFirst(grouped(byRule, ({ rule }) => rule ?? '')).map(([reason, groups]) => {
        const { approved, rejected, deleted, waits } = decisionsOf(groups)
        return { reason, right: rejected + deleted, wrong: approved, waits }
      }),
      sections: sections.map(({ section: name }) => ({
        section: name,
        decisions: decisionsOf(groupsOf.get(name) ?? []),
      })),
    }
  })
}

/** Decisions of one kind that waited equally long. */
interface Group {
  action: string
  waitSeconds: number | null
  _count: number
}

const sum = (groups: readonly Group[]): number => groups.reduce((all, { _count }) => all + _count, 0)

function mostFirst<Name extends string | null, Each extends Group>(groups: Map<Name, Each[]>): [Name, Each[]][] {
  const order = ([name]: [Name, Each[]]): string => name ?? ''
  return [...groups].toSorted((one, other) => sum(other[1]) - sum(one[1]) || (order(one) < order(other) ? -1 : 1))
}

function decisionsOf(groups: readonly Group[]): Decisions {
  const count = (name: string): number => sum(groups.filter(({ action }) => action === name))
  return {
    approved: count('approve'),
    rejected: count('reject'),
    deleted: count('delete'),
    reviewed: count('review'),
    waits: waitsOf(groups),
  }
}

/** Percentiles by the nearest rank: each is a wait that a comment had. */
export function waitsOf(groups: readonly Group[]): Waits {
  const waits = groups.flatMap(({ waitSeconds, _count }) => (waitSeconds === null ? [] : { waitSeconds, n: _count }))
  waits.sort((one, other) => one.waitSeconds - other.waitSeconds)
  const count = waits.reduce((all, { n }) => all + n, 0)
  const ranked = (share: number): number | null => {
    let rank = Math.ceil(share * count)
    return waits.find(({ n }) => (rank -= n) <= 0)?.waitSeconds ?? null
  }
  return { count, p50Seconds: ranked(0.5), p90Seconds: ranked(0.9), longestSeconds: ranked(1) }
}
