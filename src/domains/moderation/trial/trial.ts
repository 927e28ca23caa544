import { z } from 'zod'

import { requireCaller } from '../../../core/access.ts'
import type { Ctx } from '../../../core/context.ts'
import { invalid, validationFailed } from '../../../core/errors.ts'
import { validate } from '../../../core/input/validate.ts'
import { type TenantSettings, tenantSettingsSchema } from '../../../core/settings/tenant.ts'
import { bodySchema } from '../../comments/fields.ts'
import type { HoldDetail } from '../../comments/hold-details.ts'
import { findHeldCopies } from '../../comments/history/posted-texts.ts'
import { decide, explainText, type HoldReason, holdPolicy, isHeldForText } from '../../comments/rules.ts'
import { isBlank, renderMarkdown } from '../../comments/text/markdown.ts'
import { entryErrors } from '../../comments/text/word-entries.ts'

/** The settings that a trial may change: those that rules read. */
export const triedSettingsSchema = tenantSettingsSchema.pick({
  moderationMode: true,
  bannedWords: true,
  suspectWords: true,
  maxLinks: true,
  holdRepeatedText: true,
  holdAfterRejections: true,
  holdFirstComments: true,
})

type TriedSettings = Partial<z.output<typeof triedSettingsSchema>>

export type TrialOutcome = 'approved' | 'flagged' | 'pending' | 'refused'

/** What the rules would say of a text. */
export interface Trial {
  outcome: TrialOutcome
  /** Why it would be held or flagged; null if it would not, or is refused. */
  reason: HoldReason | null
  details: HoldDetail[]
  /** Rules that hold it if the author's earlier comments meet their condition. */
  dependsOnAuthor: HoldReason[]
}

interface TryText {
  body: string
  settings?: { [Name in keyof TriedSettings]: TriedSettings[Name] | null | undefined } | null | undefined
}

/**
 * What the rules would say of a text, by the tenant's settings and `settings` over them. Nothing is
 * stored, and no classifier is asked. Throws `validation_failed`.
 */
export async function tryText(ctx: Ctx, { body: given, settings }: TryText): Promise<Trial> {
  const { body } = validate(z.object({ body: bodySchema }), { body: given })
  const bodyHtml = renderMarkdown(body)
  if (isBlank(bodyHtml)) throw invalid('/body', 'blank', 'must contain visible text')
  const tried = settingsWith(requireCaller(ctx).tenant.settings, settings ?? {})
  const verdict = explainText(body, bodyHtml, tried)
  const { isRefused, repeats, rejections, approvedBelow } = verdict
  const copies = isRefused || isHeldForText(verdict) ? null : await findHeldCopies(ctx, body, tried)
  const reason = copies === null ? verdict.reason : 'repeated_text'
  const dependsOnAuthor = [
    repeats && 'repeated_text',
    rejections > 0 && 'earlier_rejections',
    approvedBelow > 0 && 'first_comments',
  ] as const
  const rest = { details: copies ?? verdict.details, dependsOnAuthor: dependsOnAuthor.filter((each) => each !== false) }
  if (isRefused) return { outcome: 'refused', reason: null, ...rest }
  const ruling = decide(reason, false, { ...holdPolicy(tried), asks: false })
  return { outcome: ruling.flagged ? 'flagged' : ruling.status, reason: ruling.holdReason, ...rest }
}

function settingsWith(own: TenantSettings, changed: NonNullable<TryText['settings']>): TenantSettings {
  const given = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined))
  const { settings } = validate(z.object({ settings: triedSettingsSchema.partial() }), { settings: given })
  const errors = (['bannedWords', 'suspectWords'] as const).flatMap((name) =>
    entryErrors(settings[name] ?? [], `/settings/${name}`, own[name]),
  )
  if (errors.length > 0) throw validationFailed(errors)
  // `partial` gives what is left out its default.
  const tried = Object.fromEntries(Object.entries(settings).filter(([name]) => name in given))
  return { ...own, ...tried }
}
