import { Readable } from 'node:stream'

import type { FastifyInstance } from 'fastify'

import { requireAdmin } from '../../core/access.ts'
import { unknownParameter, validationFailed } from '../../core/errors.ts'
import { inLowerCase } from '../../core/ids.ts'
import { openExportFile } from '../../domains/exports/exports.ts'
import { API_BASE } from '../../graphql/route.ts'

/** Mounts the download of an export. It is not JSON, and so no operation of the GraphQL schema. */
export function registerExportFile(scope: FastifyInstance): void {
  scope.route<{ Params: { id: string } }>({
    method: 'GET',
    url: `${API_BASE}/exports/:id/file`,
    handler: async (request, reply) => {
      requireAdmin(request.ctx)
      const unknown = Object.keys(request.query as object)
      if (unknown.length > 0) throw validationFailed(unknown.map(unknownParameter))
      const isRead = request.method !== 'HEAD'
      const { name, bytes, pieces } = await openExportFile(request.ctx, { id: inLowerCase(request.params.id) }, isRead)
      void reply
        .type('application/gzip')
        .header('content-length', bytes)
        .header('content-disposition', `attachment; filename="${name}"`)
      // Without a body, Fastify would set the length to 0.
      return reply.send(Readable.from(isRead ? pieces() : [], { objectMode: false }))
    },
  })
}
