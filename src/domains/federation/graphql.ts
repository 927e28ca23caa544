import { grouped } from '../../core/input/texts.ts'
import { ServiceError } from '../../core/errors.ts'
import { takeNodes } from '../../graphql/budget.ts'
import { builder } from '../../graphql/builder.ts'
import { asNode, nodeTypeOf } from '../../graphql/node-type.ts'
import { subgraphOf } from '../../graphql/subgraph.ts'
import type { Comment } from '../comments/comment.ts'
import { CommentRef } from '../comments/graphql.ts'
import type { Discussion } from '../discussions/fields.ts'
import { DiscussionRef } from '../discussions/graphql.ts'
import { ReaderRef } from '../readers/graphql.ts'
import type { Reader } from '../readers/fields.ts'
import { findEntities, KEYS, MAX_REPRESENTATIONS } from './entities.ts'

// The names and types are those of the Federation 2 specification.

builder.scalarType('_Any', {
  description: 'The type of an entity, and one of its keys: `{"__typename": "Discussion", "externalId": "article-1"}`.',
  serialize: (value) => value,
  parseValue: (value) => value,
})

const EntityUnion = builder.unionType('_Entity', {
  description: 'What other subgraphs of a federated graph may name.',
  types: [CommentRef, DiscussionRef, ReaderRef],
  resolveType: (value) => nodeTypeOf(value) ?? null,
})

const ServiceRef = builder.objectRef<{ sdl: string }>('_Service').implement({
  description: 'This service as a subgraph.',
  fields: (t) => ({ sdl: t.exposeString('sdl', { description: 'Its schema, the same as of GET /graphql/sdl.' }) }),
})

builder.queryField('_service', (t) =>
  t.field({
    type: ServiceRef,
    access: 'key',
    description: 'Returns this service as a subgraph, for the composition of a federated graph.',
    resolve: (_root, _args, _ctx, { schema }) => ({ sdl: subgraphOf(schema, KEYS) }),
  }),
)

builder.queryField('_entities', (t) =>
  t.field({
    type: [EntityUnion],
    nullable: { list: false, items: true },
    access: 'key',
    description: `Returns up to ${grouped(MAX_REPRESENTATIONS)} objects that a gateway names by their keys, in the order of the request. Null if the caller may see none: the rules are those of the query of its type. A page without a discussion is one without comments.`,
    args: { representations: t.arg({ type: ['_Any'], required: true, description: 'Their types and keys.' }) },
    resolve: async (_root, { representations }, ctx, info) => {
      const found = await findEntities(ctx, representations)
      // `node` is of the type that the name says.
      type Entity = Comment | Discussion | Reader
      const entities = found.map((each) =>
        each === null || each instanceof ServiceError ? each : (asNode(each.type, each.node) as Entity),
      )
      const nodes = entities.filter((each) => !(each instanceof ServiceError))
      await takeNodes(ctx, info, nodes, '/representations')
      // An error among the entries fails alone.
      return entities as (Entity | null)[]
    },
  }),
)
