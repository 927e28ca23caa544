import { builder } from './builder.ts'
import { nodeTypeOf } from './node-type.ts'

/** What has an id of its own. `src/domains/nodes` finds it by its id. */
export const NodeRef = builder.interfaceRef<{ id: string }>('Node').implement({
  description: 'An object with an id of its own, by which `node` finds it.',
  resolveType: nodeTypeOf,
  fields: (t) => ({ id: t.exposeID('id', { description: 'The id, the same as in REST.' }) }),
})
