import type { FastifyInstance, HTTPMethods } from 'fastify'

import type { Ctx } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import type { Answer } from '../domains/idempotency/idempotency.ts'
import { schema } from '../graphql/schema.ts'
import { accessOfRoute, compileRoute, type RestResponse } from '../rest/handler.ts'
import { ROUTES } from '../rest/routes.ts'
import { answerOnce, hasIdempotencyKey } from './idempotency.ts'

export const API_BASE = '/api/v1'

const METHODS: readonly HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const JSON_TYPE = 'application/json; charset=utf-8'

/** Mounts every REST route, and answers the other methods of its path with 405. */
export function registerRest(scope: FastifyInstance): void {
  const paths = new Map<string, { url: string; allowed: HTTPMethods[] }>()
  for (const route of ROUTES) {
    const handle = compileRoute(schema, route)
    const url = API_BASE + route.path
    // Login belongs to no tenant, whatever credentials come with it.
    const takesKey = route.method !== 'GET' && accessOfRoute(schema, route) !== 'public'
    scope.route({
      method: route.method,
      url,
      handler: async (request, reply) => {
        const run = (ctx: Ctx) =>
          handle(ctx, {
            params: request.params as Record<string, string>,
            query: request.query as Record<string, string | string[]>,
            body: request.body,
          })
        if (takesKey && hasIdempotencyKey(request)) {
          return answerOnce(request, reply, async (ctx) => toAnswer(await run(ctx)))
        }
        const { status, body } = await run(request.ctx)
        void reply.code(status)
        if (body === undefined) return reply.send()
        return reply.type(JSON_TYPE).send(JSON.stringify(body))
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

const toAnswer = ({ status, body }: RestResponse): Answer =>
  body === undefined
    ? { status, contentType: null, body: '' }
    : { status, contentType: JSON_TYPE, body: JSON.stringify(body) }
