import { z } from 'zod'

import { builder } from '../../../graphql/builder.ts'
import { addEnum } from '../../../graphql/enum.ts'
import { inputFields } from '../../../graphql/checked.ts'
import { shapedBy } from '../../../graphql/shape.ts'
import { bodySchema } from '../../comments/fields.ts'
import { HoldDetailRef, HoldReasonEnum } from '../graphql-queue.ts'
import { type Trial, type TrialOutcome, triedSettingsSchema, tryText } from './trial.ts'

const TrialRef = builder.objectRef<Trial>('ModerationTrial').implement({
  description: 'What the rules would say of a text.',
  fields: (t) => ({
    outcome: t.field({
      type: addEnum<TrialOutcome>('TrialOutcome', 'What would become of a comment with a text.', {
        approved: 'It would be public.',
        flagged: 'It would be public, and in the queue `reported`.',
        pending: 'It would wait for a moderator.',
        refused: 'It would be refused.',
      }),
      description: 'What would become of a comment of a reader whose earlier comments hold nothing against it.',
      resolve: ({ outcome }) => outcome,
    }),
    reason: t.expose('reason', {
      type: HoldReasonEnum,
      nullable: true,
      description: 'Why it would wait or be flagged. Null if it would not, or would be refused.',
    }),
    details: t.expose('details', {
      type: [HoldDetailRef],
      description: 'What was found by the rule that decides, at most 20 places.',
    }),
    dependsOnAuthor: t.expose('dependsOnAuthor', {
      type: [HoldReasonEnum],
      description: "Rules that would hold it as well, or before, because of the author's earlier comments.",
    }),
  }),
})

builder.queryField('moderationTrial', (t) =>
  t.field({
    type: TrialRef,
    access: 'manage_settings',
    description:
      'Returns what the rules would say of a text, by the settings of the tenant and others in place of them. Nothing is stored, and no classifier is asked.',
    args: {
      body: t.arg.string({
        required: true,
        description: 'The text in Markdown.',
        extensions: shapedBy(bodySchema),
      }),
      settings: t.arg({
        type: builder.inputType('TriedSettings', {
          description: 'Settings to try. Those of the tenant stand for omitted ones.',
          extensions: shapedBy(triedSettingsSchema),
          fields: (fields) => inputFields(fields, triedSettingsSchema.shape),
        }),
        description: 'Settings in place of those of the tenant.',
        extensions: shapedBy(z.object(triedSettingsSchema.shape).partial()),
      }),
    },
    resolve: (_root, args, ctx) => tryText(ctx, args),
  }),
)
