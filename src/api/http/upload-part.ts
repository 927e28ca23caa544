import type { FastifyInstance } from 'fastify'

import { requireAdmin } from '../../core/access.ts'
import { ServiceError, unknownParameter, validationFailed } from '../../core/errors.ts'
import { inLowerCase } from '../../core/ids.ts'
import { putPart } from '../../domains/import-uploads/parts.ts'
import { PART_BYTES } from '../../domains/import-uploads/sizes.ts'
import { API_BASE } from '../../graphql/route.ts'
import { headerOf } from './credentials.ts'

const TYPE = 'application/octet-stream'

/** Mounts the upload of a part. It is bytes, and so no operation of the GraphQL schema. */
export async function registerUploadPart(scope: FastifyInstance): Promise<void> {
  // In a scope of its own: no other route takes bytes.
  await scope.register(async (inner) => {
    inner.addContentTypeParser<Buffer>(TYPE, { parseAs: 'buffer', bodyLimit: PART_BYTES }, (_request, body, done) =>
      done(null, body),
    )
    inner.route<{ Params: { id: string; n: string }; Body: unknown }>({
      method: 'PUT',
      url: `${API_BASE}/import-uploads/:id/parts/:n`,
      // Before the body is read.
      onRequest: async (request) => {
        requireAdmin(request.ctx)
        const unknown = Object.keys(request.query as object)
        if (unknown.length > 0) throw validationFailed(unknown.map(unknownParameter))
        if (request.headers['content-type'] !== TYPE) {
          throw new ServiceError('unsupported_media_type', { detail: `A part is sent as ${TYPE}.` })
        }
        if (Number(request.headers['content-length'] ?? 0) > PART_BYTES) throw tooLarge()
      },
      handler: async (request, reply) => {
        const { body, ctx, params } = request
        const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
        await putPart(ctx, {
          ...params,
          id: inLowerCase(params.id),
          bytes,
          digest: headerOf(request, 'content-digest'),
        })
        return reply.code(204).send()
      },
    })
  })
}

const tooLarge = (): ServiceError =>
  new ServiceError('body_too_large', { detail: `A part has at most ${PART_BYTES} bytes.` })
