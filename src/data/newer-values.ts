import { CommentStatus, DeliveryStatus, DiscussionState, EndpointState } from '../generated/prisma/enums.ts'

interface StoredEnum {
  column: string
  /** Prisma's name of the column in a query. */
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

/** The replacements are those that callers see: `src/graphql/unknown-values.ts`. */
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
 * In the answer to a query of Prisma, replaces enum values that only a newer release knows by the
 * nearest one of this release. Without this, Prisma would refuse the whole list while both releases
 * run side by side.
 */
export function replaceNewerValues(text: string, answer: unknown): unknown {
  const { fields = [], rows } = answer as QueryAnswer
  for (const { column, known, nearest } of ENUMS.filter(({ asked }) => text.includes(asked))) {
    const index = fields.findIndex(({ name }) => name === column)
    for (const row of rows) if (typeof row[index] === 'string' && !known.has(row[index])) row[index] = nearest
  }
  return answer
}
