import type { HoldReason } from '../comments/rules.ts'
import { builder } from '../../graphql/builder.ts'
import { namedInRest } from '../../graphql/in-rest.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { labelOf } from '../audit/audit.ts'
import { AuditActorKindEnum } from '../audit/graphql.ts'
import { HoldReasonEnum } from '../moderation/graphql-queue.ts'
import { nameOfMember } from '../staff/names.ts'
import {
  type Decider,
  type Decisions,
  getTeam,
  type RuleRecord,
  sectionSchema,
  type SectionRecord,
  type Team,
  TEAM_SECTIONS,
  type Waits,
} from './team.ts'

const WaitsRef = builder.objectRef<Waits>('AnalyticsWaits').implement({
  description:
    'How long comments waited for a decision, rounded to two digits: since they were posted, edited or first reported, whichever brought them to a moderator.',
  fields: (t) => ({
    count: t.exposeInt('count', { description: 'Number of decisions on a comment that waited for one.' }),
    p50Seconds: t.exposeInt('p50Seconds', { nullable: true, description: 'Half of them waited at most this long.' }),
    p90Seconds: t.exposeInt('p90Seconds', { nullable: true, description: 'Nine of ten waited at most this long.' }),
    longestSeconds: t.exposeInt('longestSeconds', { nullable: true, description: 'How long the oldest one waited.' }),
  }),
})

const DecisionsRef = builder.objectRef<Decisions>('AnalyticsDecisions').implement({
  description:
    'Decisions on comments. A changed decision counts once, as the last one was. Comments that were removed do not count.',
  fields: (t) => ({
    approved: t.exposeInt('approved', { description: 'Approved comments.' }),
    rejected: t.exposeInt('rejected', { description: 'Rejected comments.' }),
    deleted: t.exposeInt('deleted', { description: 'Comments deleted by somebody other than their author.' }),
    reviewed: t.exposeInt('reviewed', { description: 'Approved comments that were marked as reviewed.' }),
    waits: t.expose('waits', { type: WaitsRef, description: 'How long the comments waited.' }),
  }),
})

const DeciderRef = builder.objectRef<Decider>('AnalyticsDecider').implement({
  description: 'Who has decided on comments.',
  fields: (t) => ({
    kind: t.expose('actorKind', {
      type: AuditActorKindEnum,
      description: 'A member, a key, or the service: its classifier, and bans that reject comments.',
    }),
    actorId: t.exposeID('actorId', {
      nullable: true,
      description: 'The id of the member or key; null for the service.',
      extensions: namedInRest('id'),
    }),
    name: t.string({
      nullable: true,
      description:
        'The name of the member, or their address up to the @ where they have none; the label of the key. A removed member keeps their name as long as the audit log has it.',
      resolve: (decider, _args, ctx) =>
        decider.actorKind === 'admin' && decider.actorId !== null
          ? nameOfMember(ctx, decider.actorId)
          : labelOf(ctx, decider),
    }),
    decisions: t.expose('decisions', { type: DecisionsRef, description: 'Their decisions.' }),
  }),
})

const RuleRef = builder.objectRef<RuleRecord>('AnalyticsRule').implement({
  description: 'How often a rule was right, of the comments that it held or flagged and that were decided on.',
  fields: (t) => ({
    reason: t.field({
      type: HoldReasonEnum,
      description: 'The reason that the rule gives. `reports` also counts comments with fewer than reportThreshold.',
      resolve: ({ reason }) => reason as HoldReason,
    }),
    right: t.exposeInt('right', { description: 'Comments that were rejected or deleted.' }),
    wrong: t.exposeInt('wrong', { description: 'Comments that were approved.' }),
    waits: t.expose('waits', { type: WaitsRef, description: 'How long the comments waited.' }),
  }),
})

const SectionRef = builder.objectRef<SectionRecord>('AnalyticsSection').implement({
  description: 'A section of the site.',
  fields: (t) => ({
    section: t.exposeString('section', {
      nullable: true,
      description:
        "The first segment of the path of the discussion's URL when it was decided; empty for the front page, null without a URL.",
    }),
    decisions: t.expose('decisions', { type: DecisionsRef, description: 'The decisions on its comments.' }),
  }),
})

const TeamRef = builder.objectRef<Team>('AnalyticsTeam').implement({
  description: 'The decisions of a team on comments, in a span of days.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'When the first day begins.' }),
    to: t.expose('to', { type: 'DateTime', description: 'When the last day ends.' }),
    totals: t.expose('totals', { type: DecisionsRef, description: 'The decisions of the chosen kind of deciders.' }),
    deciders: t.expose('deciders', {
      type: [DeciderRef],
      description: 'All who have decided, of each kind, those with the most decisions first.',
    }),
    rules: t.expose('rules', {
      type: [RuleRef],
      description: 'The rules by what the chosen kind of deciders decided, those with the most comments first.',
    }),
    sections: t.expose('sections', {
      type: [SectionRef],
      description: `The sections by what the chosen kind of deciders decided: the ${TEAM_SECTIONS} with the most decisions, those first.`,
    }),
  }),
})

builder.queryField('analyticsTeam', (t) =>
  t.field({
    type: TeamRef,
    access: 'view_analytics',
    description:
      'Returns who decided on how many comments in a span of at most 92 days, how long these waited, and how often the rules were right.',
    args: {
      from: t.arg({
        type: 'DateTime',
        description:
          'When the span begins, rounded down to the beginning of a day (UTC). The default is 30 days before the end.',
      }),
      to: t.arg({
        type: 'DateTime',
        description: 'When the span ends (exclusive), rounded up to the end of a day. The default is today.',
      }),
      section: t.arg.string({
        description: 'Only comments of this section; empty for the front page.',
        extensions: shapedBy(sectionSchema),
      }),
      by: t.arg({
        type: AuditActorKindEnum,
        defaultValue: 'admin',
        description: 'Whose decisions the totals, the rules and the sections count.',
      }),
    },
    resolve: (_root, args, ctx) => getTeam(ctx, args),
  }),
)
