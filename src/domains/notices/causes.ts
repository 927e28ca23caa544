import { z } from 'zod'
import { isDistinct, wrong } from '../../core/input/schemas.ts'

/** Whose form the messages of a channel have. */
export const NOTICE_KINDS = {
  slack: 'An incoming webhook of Slack, or of a program that takes its form.',
  discord: 'A webhook of a Discord channel.',
  teams: 'A workflow of Microsoft Teams that posts what a webhook request brings.',
  webhook: 'A JSON object, for a program of your own.',
} as const

export type NoticeKind = keyof typeof NOTICE_KINDS

/** What staff are told. */
export const NOTICE_CAUSES = {
  comment_waiting: 'New comments wait for a moderator.',
  endpoint_failing: 'The circuit of a webhook endpoint has opened: its deliveries fail.',
  endpoint_disabled: 'A webhook endpoint was disabled, because its deliveries failed for long or its receiver is gone.',
  export_ready: 'An export of the tenant is ready.',
} as const

export type NoticeCause = keyof typeof NOTICE_CAUSES

const namesOf = <Name extends string>(all: Readonly<Record<Name, string>>): [Name, ...Name[]] =>
  Object.keys(all) as [Name, ...Name[]]

export const KINDS = namesOf(NOTICE_KINDS)
export const CAUSES = namesOf(NOTICE_CAUSES)

/** The causes of a channel. */
export const causesSchema = z
  .array(z.enum(CAUSES))
  .min(1)
  .max(CAUSES.length)
  .refine(isDistinct, wrong('repeated', 'must not repeat one'))
