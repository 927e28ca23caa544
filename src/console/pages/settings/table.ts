import table from '../../../generated/settings.json' with { type: 'json' }
import { LABELS, textOf } from './labels.ts'

/** What a setting can be; of a group that can be null, whether there is one. */
export type Value = string | number | boolean | null | readonly string[]

/** A setting as `settings.json` describes it (src/api/reference/settings.ts). */
export interface Field {
  /** `editWindowSeconds`, `stream.replayHours`. */
  path: string
  group: string | null
  type: 'integer' | 'text' | 'choice' | 'texts'
  isNullable: boolean
  default: Value
  unit: string | null
  description: string
  values: readonly { value: string; description: string }[] | null
  bounds: Bounds
  itemBounds: Bounds | null
}

interface Bounds {
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
}

const isType = (type: string): type is Field['type'] => ['integer', 'text', 'choice', 'texts'].includes(type)

export const FIELDS: readonly Field[] = table.fields.map((field) => {
  if (!isType(field.type)) throw new Error(`a form cannot show ${field.path}: it is ${field.type}`)
  return { ...field, type: field.type, description: textOf(field.path, field.description) }
})

export const NULLABLE_GROUPS: readonly string[] = table.groups
  .filter(({ isNullable }) => isNullable)
  .map(({ name }) => name)

const GROUP_TEXTS = new Map(table.groups.map(({ name, description }) => [name, textOf(name, description)]))

export interface Section {
  id: string
  title: string
  /** The settings in it, or the groups of them. */
  of: readonly string[]
}

const SECTIONS: readonly Section[] = [
  { id: 'website', title: 'Your website', of: ['allowedOrigins'] },
  {
    id: 'moderation',
    title: 'Moderation',
    of: ['moderationMode', 'bannedWords', 'suspectWords', 'maxLinks', 'holdFirstComments', 'reportThreshold'],
  },
  { id: 'comments', title: 'Comments', of: ['editWindowSeconds', 'maxDepth', 'autoCloseDays', 'reactionTypes'] },
  { id: 'privacy', title: 'Privacy', of: ['erasureMode'] },
  { id: 'limits', title: 'Keys and limits', of: ['activeKeyBudget', 'rateLimit'] },
  { id: 'streams', title: 'Streams and tickets', of: ['stream', 'ticket'] },
  { id: 'webhooks', title: 'Webhooks', of: ['webhookEndpoints', 'webhookPolicy', 'deliveryRetentionDays'] },
  { id: 'identity', title: 'Identity', of: ['identity'] },
  { id: 'classifier', title: 'Classifier', of: ['classifier'] },
]

const isIn = ({ of }: Section, { path, group }: Field): boolean => of.includes(group ?? path)
const rest = FIELDS.filter((field) => !SECTIONS.some((section) => isIn(section, field))).map(({ path }) => path)

/** Every setting in one section; those that nobody has put into one stand at the end. */
export const ALL_SECTIONS: readonly (Section & { about: string | null; fields: readonly Field[] })[] = [
  ...SECTIONS,
  ...(rest.length === 0 ? [] : [{ id: 'others', title: 'Others', of: rest }]),
].map((section) => ({
  ...section,
  about: section.of.length === 1 ? (GROUP_TEXTS.get(section.of[0] ?? '') ?? null) : null,
  fields: FIELDS.filter((field) => isIn(section, field) || section.of.includes(field.path)),
}))

export const labelOf = ({ path }: Field): string => LABELS[path] ?? path
