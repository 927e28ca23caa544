import { CommentStatus, DeliveryStatus, DiscussionState, EndpointState } from '../generated/prisma/enums.ts'

interface StoredEnum {
  column: string
  /** How Prisma names the column where it reads it. */
  asked: string
  known: ReadonlySet<unknown>
  nearest: string
}

function enumOf<Value extends string>(
  [table, column]: [string, string],
  values: Record<string, Value>,
  nearest: NoInfer<Value>,
): StoredEnum {
  return { column, asked: `"${table}"."${column}"::text`, known: new Set(Object.values(values)), nearest }
}

/** The nearest values are those that callers see: `src/schema/unknown-values.ts`. */
const ENUMS = [
  enumOf(['comments', 'status'], CommentStatus, 'pending'),
  enumOf(['deliveries', 'status'], DeliveryStatus, 'pending'),
  enumOf(['discussions', 'state'], DiscussionState, 'locked'),
  enumOf(['webhook_endpoints', 'state'], EndpointState, 'unverified'),
]

interface QueryAnswer {
  fields?: { name: string }[]
  rows: unknown[][]
}

/**
 * Replaces enum values that only a newer release knows by the nearest one of this release, in the
 * answer to a query of Prisma. While both releases run side by side, Prisma would refuse the whole
 * list.
 */
export function replaceNewerValues(text: string, answer: unknown): unknown {
  const { fields = [], rows } = answer as QueryAnswer
  for (const { column, known, nearest } of ENUMS.filter(({ asked }) => text.includes(asked))) {
    const index = fields.findIndex(({ name }) => name === column)
    for (const row of rows) if (typeof row[index] === 'string' && !known.has(row[index])) row[index] = nearest
  }
  return answer
}
