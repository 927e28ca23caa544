import type { z } from 'zod'

// Stored JSON may come from a newer release: processes of both run side by side during an upgrade,
// and stay on one database after a downgrade. What this release does not know must not break it.

type Path = readonly PropertyKey[]
type Container = Record<PropertyKey, unknown>

/**
 * The most passes: each can uncover errors that zod reports only for otherwise valid values, such
 * as two fields that must fit.
 */
const MAX_PASSES = 8

/**
 * Reads stored JSON with the schema that checks callers' input. A value that the schema refuses is
 * replaced by its default. An unknown field, and an entry of a list that is refused, is left out. A
 * list that is too long is cut.
 */
export function readStored<S extends z.ZodType>(schema: S, stored: unknown): z.output<S> {
  const given = isContainer(stored) ? stored : {}
  const whole = schema.safeParse(given)
  if (whole.success) return whole.data
  const known = structuredClone(given)
  let { issues } = whole.error
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    leaveOut(known, issues)
    const result = schema.safeParse(known)
    if (result.success) return result.data
    issues = result.error.issues
  }
  return schema.parse({})
}

function leaveOut(known: Container, issues: readonly z.core.$ZodIssue[]): void {
  const paths = new Map<string, Path>()
  for (const issue of issues) {
    const list = issue.code === 'too_big' ? at(known, issue.path) : undefined
    if (issue.code === 'too_big' && Array.isArray(list)) list.length = Number(issue.maximum)
    else for (const path of pathsOf(issue)) paths.set(JSON.stringify(path), path)
  }
  // From the last to the first: removing an entry of a list shifts those behind it.
  for (const path of [...paths.values()].toReversed()) remove(known, path)
}

const pathsOf = (issue: z.core.$ZodIssue): Path[] =>
  issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]

function remove(root: Container, path: Path): void {
  const name = path.at(-1)
  if (name === undefined) return
  const holder = at(root, path.slice(0, -1))
  if (Array.isArray(holder)) holder.splice(Number(name), 1)
  else if (isContainer(holder) && Object.hasOwn(holder, name)) Reflect.deleteProperty(holder, name)
  // A default that conflicts with a stored value beside it: then the whole object is dropped.
  else remove(root, path.slice(0, -1))
}

const at = (root: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, name) => (isContainer(value) ? value[name] : undefined), root)

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null

/**
 * SQL for a whole number in a `jsonb` value; null where it is missing, not a whole number, or
 * outside the schema's bounds. So SQL that reads stored JSON decides as `readStored` does.
 */
export const storedNumber = (json: string, path: string, { minValue, maxValue }: z.ZodNumber): string =>
  `(jsonb_path_query_first(${json}, 'strict $.${path} ? (@ >= ${minValue} && @ <= ${maxValue} && @ == @.floor())', '{}', true)
    #>> '{}')::numeric::int`

/** SQL for true or false in a `jsonb` value; null where it is missing or something else. */
export const storedBoolean = (json: string, path: string): string =>
  `(jsonb_path_query_first(${json}, 'strict $.${path} ? (@ == true || @ == false)', '{}', true) #>> '{}')::boolean`
