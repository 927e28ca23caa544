import table from '../../../generated/settings.json' with { type: 'json' }
import { durationWords, type Unit } from '../../ui/durations.ts'
import { LABELS, SECTION_TITLES, sectionOf, textOf } from './labels.ts'

/** The value of a setting; for a group that can be null, whether it is set. */
export type Value = string | number | boolean | null | readonly string[] | readonly Entry[]

/** One of a list of objects, by its fields. */
export type Entry = Readonly<Record<string, string>>

export const entriesIn = (value: Value): readonly Entry[] =>
  Array.isArray(value) ? value.filter((each): each is Entry => typeof each !== 'string') : []

/** A value that is no list, as text. */
export const textIn = (value: Value): string => (typeof value === 'object' ? '' : String(value))

export const textsIn = (value: Value): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []

const TYPES = ['integer', 'switch', 'text', 'choice', 'texts', 'objects'] as const

/** A setting as `settings.json` describes it (src/api/reference/pages/settings.ts). */
export interface Field {
  /** `editWindowSeconds`, `stream.replayHours`. */
  path: string
  group: string | null
  type: (typeof TYPES)[number]
  isNullable: boolean
  default: Value
  unit: Unit | null
  description: string
  /** The description without bounds. */
  meaning: string
  values: readonly { value: string; description: string }[] | null
  bounds: Bounds
  itemBounds: Bounds | null
  /** The fields of each of the `objects` of a list. */
  items: readonly RawField[] | null
}

interface Bounds {
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
}

export type RawField = Omit<Field, 'type'> & { type: string }

/** Single sign-on has a form of its own. */
const isOfForm = ({ group }: { group: string | null }): boolean => group !== 'staff.oidc'

const isType = (type: string): type is Field['type'] => TYPES.some((each) => each === type)

/** The description of a setting; of a length of time without its unit, and with bounds in words. */
export function timeText({ unit, description, meaning, bounds: { minimum, maximum } }: RawField): string {
  if (unit === null || minimum === undefined || maximum === undefined) return description
  const time = meaning.replace(/^(Milliseconds|Seconds|Hours|Days)\b/, 'Time')
  return `${time} From ${durationWords(minimum, unit)} to ${durationWords(maximum, unit)}.`
}

export const FIELDS: readonly Field[] = (table.fields as RawField[]).filter(isOfForm).map((field) => {
  if (!isType(field.type)) throw new Error(`a form cannot show ${field.path}: it is ${field.type}`)
  return { ...field, type: field.type, description: textOf(field.path, timeText(field)) }
})

export const NULLABLE_GROUPS: readonly string[] = table.groups
  .filter(({ name, isNullable }) => isNullable && isOfForm({ group: name }))
  .map(({ name }) => name)

const GROUP_TEXTS = new Map(table.groups.map(({ name, description }) => [name, textOf(name, description)]))

/** Settings that are shown together in the form. */
interface Section {
  id: string
  title: string
  /** The description of all of them, if they are one group. */
  about: string | null
  fields: readonly Field[]
}

export const SECTIONS: readonly Section[] = Object.entries(SECTION_TITLES).map(([id, title]) => {
  const fields = FIELDS.filter(({ path }) => sectionOf(path) === id)
  const groups = [...new Set(fields.map(({ group }) => group?.split('.')[0] ?? null))]
  return { id, title, about: groups.length === 1 ? (GROUP_TEXTS.get(groups[0] ?? '') ?? null) : null, fields }
})

export const labelOf = ({ path }: Field): string => LABELS[path] ?? path
