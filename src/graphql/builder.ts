import './access.ts'
import './access-types.ts'

import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { GraphQLError } from 'graphql'

import type { Ctx } from '../core/context.ts'
import type PrismaTypes from '../generated/pothos.ts'
import { getDatamodel } from '../generated/pothos.ts'

/** Everything that the graph is made of hangs on this builder: a domain's `graphql.ts` adds its own types and fields. */
export const builder = new SchemaBuilder<{
  Context: Ctx
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date | string }
    JSON: { Input: unknown; Output: unknown }
  }
}>({
  plugins: ['access', PrismaPlugin, RelayPlugin],
  defaultFieldNullability: false,
  prisma: {
    client: (ctx) => ctx.app.prisma,
    dmmf: getDatamodel(),
    filterConnectionTotalCount: true,
    onUnusedQuery: null,
  },
  relay: { nodeQueryOptions: false, nodesQueryOptions: false, clientMutationId: 'omit', cursorType: 'String' },
})

builder.queryType({ description: 'Everything that can be read.' })
builder.mutationType({ description: 'Everything that can be changed.' })
builder.subscriptionType({ description: 'Everything that can be followed live.' })

const RFC_3339 = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Date.parse alone would also take dates without a time, local times, and 30 February for 2 March. */
function isInstant(text: string): boolean {
  const at = Date.parse(text)
  const day = RFC_3339.exec(text)?.[1]
  if (day === undefined || Number.isNaN(at)) return false
  // An offset can carry the instant into the year 10000, which RFC 3339 cannot write.
  return new Date(at).toISOString().length === 24 && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}

builder.scalarType('DateTime', {
  description: 'An instant: RFC 3339 in UTC with milliseconds, as 2026-11-21T02:30:00.000Z.',
  serialize: (value) => (value instanceof Date ? value.toISOString() : value),
  parseValue: (value) => {
    if (typeof value !== 'string' || !isInstant(value)) {
      throw new GraphQLError('must be an RFC 3339 date and time')
    }
    return new Date(value)
  },
})

builder.scalarType('JSON', {
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => value,
})
