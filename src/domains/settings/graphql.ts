import {
  PUBLIC_SETTINGS,
  type TenantSettings,
  tenantSettingsSchema,
  wordListSchema,
} from '../../core/settings/tenant.ts'
import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { inputFields, outputFields } from '../../graphql/checked.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { TRIED_COMMENTS, type WordMatches } from '../comments/history/word-matches.ts'
import { findPublicSettings, findSettings, type PublicSettings, tryWordList, updateSettings } from './settings.ts'

const { shape } = tenantSettingsSchema

const SettingsRef = builder.objectRef<TenantSettings>('Settings').implement({
  description: 'The settings of the tenant that are in force.',
  fields: (t) => outputFields(t, shape),
})

builder.queryField('settings', (t) =>
  t.field({
    type: SettingsRef,
    access: 'manage_settings',
    description: 'Returns the settings of the tenant.',
    resolve: (_root, _args, ctx) => findSettings(ctx),
  }),
)

const PublicSettingsRef = builder.objectRef<PublicSettings>('PublicSettings').implement({
  description: 'The settings that a page for readers is made by; none of them is a secret.',
  fields: (t) => outputFields(t, Object.fromEntries(PUBLIC_SETTINGS.map((name) => [name, shape[name]]))),
})

builder.queryField('publicSettings', (t) =>
  t.field({
    type: PublicSettingsRef,
    access: 'key',
    client: true,
    description: 'Returns the settings that a page for readers needs. A change is seen within 5 s.',
    resolve: (_root, _args, ctx) => findPublicSettings(ctx),
  }),
)

const WordMatchRef = builder.objectRef<WordMatches['entries'][number]>('WordMatch').implement({
  description: 'An entry of a word list, and how many comments have it.',
  fields: (t) => ({
    entry: t.exposeString('entry', { description: 'The entry.' }),
    matched: t.exposeInt('matched', { description: 'How many of the comments have it.' }),
  }),
})

const WordMatchesRef = builder.objectRef<WordMatches>('WordMatches').implement({
  description: 'What a word list would have caught.',
  fields: (t) => ({
    comments: t.exposeInt('comments', {
      description: `How many comments were looked at: the last ${TRIED_COMMENTS} without deleted ones, or fewer if their texts have more than 2 MB.`,
    }),
    matched: t.exposeInt('matched', { description: 'How many of them have one of the words.' }),
    entries: t.expose('entries', {
      type: [WordMatchRef],
      description: 'The entries that are in some of them, the most frequent first.',
    }),
  }),
})

builder.queryField('wordMatches', (t) =>
  t.field({
    type: WordMatchesRef,
    access: 'manage_settings',
    throws: ['unavailable'],
    description: `Returns how many of the last ${TRIED_COMMENTS} comments a word list would have caught.`,
    args: {
      words: t.arg.stringList({
        required: true,
        description: 'The words and phrases, as in bannedWords.',
        extensions: shapedBy(wordListSchema),
      }),
    },
    resolve: (_root, args, ctx) => tryWordList(ctx, args),
  }),
)

addMutation('updateSettings', {
  takes: 'The settings to change. Omitted settings do not change. Null is a value of settings that allow it.',
  shape: tenantSettingsSchema,
  input: (t) => inputFields(t, shape),
  access: 'manage_settings',
  throws: ['admin_only'],
  description: 'Changes settings of the tenant. Only an owner can change `staff`.',
  resolve: async (input, ctx) => ({ settings: await updateSettings(ctx, input) }),
  answers: 'The settings as they are now.',
  output: (t) => ({
    settings: t.field({
      type: SettingsRef,
      description: 'All settings in force.',
      resolve: ({ settings }) => settings,
    }),
  }),
})
