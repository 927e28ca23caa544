import type { FastifyInstance, HTTPMethods, RouteHandlerMethod } from 'fastify'

import type { Ctx } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'
import type { Answer } from '../domains/idempotency/idempotency.ts'
import { schema } from '../graphql/schema.ts'
import { type CompiledRoute, compileRoute, type RestResponse, takesIdempotencyKey } from '../rest/handler.ts'
import { API_BASE } from '../rest/route.ts'
import { ROUTES } from '../rest/routes.ts'
import { answerOnce, hasIdempotencyKey } from './idempotency.ts'
import { JSON_TYPE, restRequest, servePages } from './pages.ts'

const METHODS: readonly HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Answers what the route says, made anew for each request; where it takes an Idempotency-Key, once for all that have the same. */
const serve =
  ({ read, run }: CompiledRoute, takesKey: boolean): RouteHandlerMethod =>
  async (request, reply) => {
    const answer = async (ctx: Ctx): Promise<RestResponse> => run(ctx, read(ctx, restRequest(request)))
    if (takesKey && hasIdempotencyKey(request)) {
      return answerOnce(request, reply, async (ctx) => toAnswer(await answer(ctx)))
    }
    const { status, body } = await answer(request.ctx)
    void reply.code(status)
    if (body === undefined) return reply.send()
    return reply.type(JSON_TYPE).send(JSON.stringify(body))
  }

/** Mounts every REST route, and answers the other methods of its path with 405. */
export function registerRest(scope: FastifyInstance): void {
  const paths = new Map<string, { url: string; allowed: HTTPMethods[] }>()
  for (const route of ROUTES) {
    const compiled = compileRoute(schema, route)
    const url = API_BASE + route.path
    const takesKey = takesIdempotencyKey(schema, route)
    scope.route({
      method: route.method,
      url,
      handler: route.isDiscussionPage === true ? servePages(route, compiled) : serve(compiled, takesKey),
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
