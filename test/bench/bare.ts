// A bare server on the same database: one statement, and its rows as JSON. The reference of the
// benches.
import Fastify from 'fastify'

import { FIRST_ID, LAST_ID } from '../../src/core/ids.ts'
import { openServer } from '../../src/data/server/server.ts'
import { listLevel } from '../../src/domains/comments/list-sql.ts'
import { selectCounts } from '../../src/domains/discussions/sql.ts'

const { db } = await openServer({
  url: process.env.DATABASE_URL ?? '',
  size: Number(process.env.DATABASE_POOL_SIZE),
  onError: () => undefined,
})
const tenantId = process.env.TENANT_ID ?? FIRST_ID
const server = Fastify()

server.get('/empty', () => ({}))

server.post('/empty', () => ({}))

server.get<{ Params: { id: string } }>('/discussions/:id/comments', async ({ params }) => {
  const after = { pinnedAt: null, id: LAST_ID, reactionCount: 0, replyCount: 0 }
  const level = { discussionId: params.id, parentId: null, sort: 'newest', after, limit: 21 } as const
  return { data: await listLevel(db.query, tenantId, level) }
})

server.post<{ Body: { externalIds: string[] } }>('/discussions/counts', async ({ body }) => ({
  data: await selectCounts(db.query, tenantId, body.externalIds),
}))

await server.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.send?.({ ready: true })
