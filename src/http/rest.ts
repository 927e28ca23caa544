import type { FastifyInstance, HTTPMethods } from 'fastify'

import { ServiceError } from '../core/errors.ts'
import { schema } from '../graphql/schema.ts'
import { compileRoute } from '../rest/handler.ts'
import { ROUTES } from '../rest/routes.ts'

export const API_BASE = '/api/v1'

const METHODS: readonly HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Mounts every REST route, and answers the other methods of its path with 405. */
export function registerRest(scope: FastifyInstance): void {
  const paths = new Map<string, { url: string; allowed: HTTPMethods[] }>()
  for (const route of ROUTES) {
    const handle = compileRoute(schema, route)
    const url = API_BASE + route.path
    scope.route({
      method: route.method,
      url,
      handler: async (request, reply) => {
        const { status, body } = await handle(request.ctx, {
          params: request.params as Record<string, string>,
          query: request.query as Record<string, string | string[]>,
          body: request.body,
        })
        void reply.code(status)
        if (body === undefined) return reply.send()
        return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
      },
    })
    // Two routes of one path may name its parameters differently.
    const shape = url.replace(/:\w+/g, ':')
    const { allowed } = paths.get(shape) ?? { allowed: [] }
    paths.set(shape, { url, allowed: [...allowed, route.method] })
  }
  for (const { url, allowed } of paths.values()) {
    scope.route({
      method: METHODS.filter((method) => !allowed.includes(method)),
      url,
      handler: () => {
        throw new ServiceError('method_not_allowed', { allow: allowed.map(String) })
      },
    })
  }
}
