import { takeNodes } from '../../graphql/budget.ts'
import { builder } from '../../graphql/builder.ts'
import { asNode } from '../../graphql/node-type.ts'
import { NodeRef } from '../../graphql/node.ts'
import { hasAllSelected } from '../../graphql/prisma-page.ts'
import { shapedBy } from '../../graphql/shape.ts'
import { findNode, findNodes, type FoundNode, idsSchema } from './nodes.ts'

const named = (found: FoundNode | null) => (found === null ? null : asNode(found.type, found.node))

builder.queryField('node', (t) =>
  t.field({
    type: NodeRef,
    nullable: true,
    access: 'key',
    client: true,
    description:
      "Returns the object with an id, whatever its type. Null if the caller may not see it, by the rule of its type's own query.",
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: async (_root, { id }, ctx, info) => {
      const found = await findNode(ctx, id)
      hasAllSelected(ctx, info, [found])
      return named(found)
    },
  }),
)

builder.queryField('nodes', (t) =>
  t.field({
    type: [NodeRef],
    nullable: { list: true, items: true },
    access: 'key',
    client: true,
    description: 'Returns the objects with up to 100 ids, in the order of the request, as `node` does.',
    args: { ids: t.arg.idList({ required: true, description: 'Their ids.', extensions: shapedBy(idsSchema) }) },
    resolve: async (_root, { ids }, ctx, info) => {
      const found = await findNodes(ctx, ids)
      hasAllSelected(ctx, info, found)
      const nodes = found.map(named)
      await takeNodes(ctx, info, nodes)
      return nodes
    },
  }),
)
