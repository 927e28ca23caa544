import './access.ts'
import './budget.ts'
import './connection.ts'
import './outcome.ts'
import './prisma-page.ts'

import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'

import type { Ctx } from '../core/context.ts'
import { DEFAULT_PAGE, MAX_PAGE } from '../core/input/page.ts'
import { ServiceError } from '../core/errors.ts'
import { reachOf } from '../core/input/validate.ts'
import type PrismaTypes from '../generated/pothos.ts'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { getDatamodel } from '../generated/pothos.ts'

/** The schema is built with this builder: each domain's `graphql.ts` adds its types and fields. */
export const builder = new SchemaBuilder<{
  Context: Ctx
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  Connection: { totalCount?: number }
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date | string }
    JSON: { Input: unknown; Output: unknown }
    _Any: { Input: unknown; Output: unknown }
  }
}>({
  plugins: ['outcome', 'access', 'budget', PrismaPlugin, RelayPlugin],
  defaultFieldNullability: false,
  prisma: {
    // Only its models are read.
    client: (ctx) => ctx.app.prisma as PrismaClient,
    dmmf: getDatamodel(),
    filterConnectionTotalCount: true,
    onUnusedQuery: null,
  },
  relay: {
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    clientMutationId: 'omit',
    cursorType: 'String',
    nodesOnConnection: { description: 'The entries.' },
    edgesFieldOptions: { description: 'The entries, each with its cursor.' },
    pageInfoFieldOptions: { description: 'The place of the page in the list.' },
    nodeFieldOptions: { description: 'The entry.' },
    cursorFieldOptions: { description: 'The place of the entry in the list, for `after`.' },
    pageInfoTypeOptions: { description: 'The place of a page in its list.' },
    hasNextPageFieldOptions: { description: 'Whether the list goes on after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether the page was asked for with `after`.' },
    startCursorFieldOptions: { description: 'The cursor of the first entry. Null for an empty page.' },
    endCursorFieldOptions: { description: 'The cursor of the last entry, for `after` of the next page.' },
    defaultMutationInputTypeOptions: { description: 'What the operation takes.' },
    defaultPayloadTypeOptions: { description: 'What the operation answers.' },
    mutationInputArgOptions: { description: 'What the operation takes.' },
    // The library gives each list all four.
    firstArgOptions: { description: `How many: at most ${MAX_PAGE}, ${DEFAULT_PAGE} by default.` },
    afterArgOptions: { description: 'The cursor to continue after: `pageInfo.endCursor` of the previous page.' },
    lastArgOptions: { description: 'Refused: lists go forwards only.' },
    beforeArgOptions: { description: 'Refused: lists go forwards only.' },
  },
})

/** What makes the fields of an object type, or of a payload, from a `Parent`. */
export type ObjectFields<Parent> = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], Parent>

/** What makes the fields of an input. */
export type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>

builder.queryType({ description: 'All queries.' })
builder.mutationType({ description: 'All changes.' })
builder.subscriptionType({ description: 'All subscriptions.' })

const RFC_3339 = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/**
 * Parses an instant. Date.parse alone would also accept dates without a time, local times, and 30
 * February as 2 March. Throws `validation_failed`.
 */
function instantOf(value: unknown): Date {
  const text = typeof value === 'string' ? value : ''
  const at = Date.parse(text)
  const day = RFC_3339.exec(text)?.[1]
  if (day === undefined || Number.isNaN(at) || !new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)) {
    throw noInstant('wrong_type', 'must be an RFC 3339 date and time')
  }
  const reach = reachOf(at)
  if (reach !== null) throw noInstant(reach, REACH[reach])
  return new Date(at)
}

/** graphql-js quotes a literal, and then the detail of what is wrong with it. */
const noInstant = (code: string, message: string): ServiceError =>
  new ServiceError('validation_failed', { detail: `It ${message}.`, errors: [{ pointer: '', code, message }] })

const REACH = { too_small: 'must not be before 1970', too_large: 'must not be after 9999' } as const

builder.scalarType('DateTime', {
  description:
    'An instant from 1970 to 9999 as RFC 3339 in UTC with milliseconds, for example 2026-11-21T02:30:00.000Z.',
  serialize: (value) => (value instanceof Date ? value.toISOString() : value),
  parseValue: instantOf,
})

builder.scalarType('JSON', {
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => value,
})
