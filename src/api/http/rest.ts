import type { FastifyInstance, RouteHandlerMethod } from 'fastify'

import { requireAccess } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { OutgoingResponse } from '../../domains/idempotency/idempotency.ts'
import { schema } from '../execution/schema.ts'
import { type CompiledRoute, compileRoute, type RestResponse, takesIdempotencyKey } from '../rest/handler.ts'
import { API_BASE, type Route } from '../../graphql/route.ts'
import { ROUTES } from '../rest/routes.ts'
import { answerOnce, hasIdempotencyKey } from './idempotency.ts'
import { JSON_TYPE, restRequest } from './body.ts'
import { servePages } from './pages/comment-pages.ts'

/** Serves a route. Requests with the same Idempotency-Key run it once. */
const serve =
  (route: CompiledRoute, takesKey: boolean): RouteHandlerMethod =>
  async (request, reply) => {
    const answer = (ctx: Ctx): Promise<RestResponse> => route.answer(ctx, restRequest(request))
    if (takesKey && hasIdempotencyKey(request)) {
      return answerOnce(request, reply, async (ctx) => toAnswer(await answer(ctx)))
    }
    const { status, body } = await answer(request.ctx)
    void reply.code(status)
    if (body === undefined) return reply.send()
    return reply.type(JSON_TYPE).send(JSON.stringify(body))
  }

// Compiled once for all apps of a process.
let compiledRoutes: Map<Route, CompiledRoute> | undefined

/** Every route with its compiled form. */
export const routesOfProcess = (): ReadonlyMap<Route, CompiledRoute> =>
  (compiledRoutes ??= new Map(ROUTES.map((route) => [route, compileRoute(schema, route)])))

/** Mounts every REST route. */
export function registerRest(scope: FastifyInstance): void {
  for (const [route, compiled] of routesOfProcess()) {
    const takesKey = takesIdempotencyKey(schema, route)
    scope.route({
      method: route.method,
      url: API_BASE + route.path,
      // Who brings no credentials is refused before the body is read.
      onRequest: ({ ctx }, _reply, done) => {
        if (ctx.caller === null) requireAccess(ctx, compiled.access)
        done()
      },
      handler: route.isDiscussionPage === true ? servePages(route, compiled) : serve(compiled, takesKey),
    })
  }
}

export const toAnswer = ({ status, body }: RestResponse): OutgoingResponse =>
  body === undefined
    ? { status, contentType: null, body: '' }
    : { status, contentType: JSON_TYPE, body: JSON.stringify(body) }
