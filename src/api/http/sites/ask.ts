import type { Call } from '../../../clients/backend/serve.ts'
import { ROUTES as PAGE_ROUTES } from '../../../clients/backend/routes.ts'
import type { Ctx } from '../../../core/context.ts'
import { noSuch, problemOf, refusalHeaders, type ServiceError } from '../../../core/errors.ts'
import { inLowerCase } from '../../../core/ids.ts'
import { countRefusal } from '../../../core/telemetry/metrics.ts'
import { runOnce } from '../../../domains/idempotency/idempotency.ts'
import { isCommentOf } from '../../../domains/sites/pages.ts'
import type { Site } from '../../../domains/sites/sites.ts'
import { API_BASE } from '../../../graphql/route.ts'
import { schema } from '../../execution/schema.ts'
import { toServiceError } from '../../execution/errors.ts'
import { type CompiledRoute, type RestRequest, takesIdempotencyKey } from '../../rest/handler.ts'
import { OUTCOMES } from '../idempotency.ts'
import { pagesOf } from '../pages/comment-pages.ts'
import { routesOfProcess, toAnswer } from '../rest.ts'

/** A route of REST that pages reach. */
interface Reached {
  /** The names of its places, in their order. */
  names: readonly string[]
  compiled: CompiledRoute
  takesKey: boolean
  /** Its pages of comments; absent where it has none. */
  pages?: ReturnType<typeof pagesOf>
}

const shapeOf = (text: string): string => text.replaceAll(/:\w+/g, ':')

let reached: ReadonlyMap<string, Reached> | undefined

/** The routes that those of pages are made of, by their shapes. A page reaches no other. */
function reachedRoutes(): ReadonlyMap<string, Reached> {
  if (reached !== undefined) return reached
  const shapes = new Set(PAGE_ROUTES.map(({ service }) => shapeOf(service)))
  const found = Array.from(routesOfProcess(), ([route, compiled]): [string, Reached] => [
    shapeOf(`${route.method} ${route.path}`),
    {
      names: Array.from(route.path.matchAll(/:(\w+)/g), ([, name = '']) => name),
      compiled,
      takesKey: takesIdempotencyKey(schema, route),
      ...(route.isDiscussionPage === true && { pages: pagesOf(route, compiled) }),
    },
  ])
  return (reached = new Map(found.filter(([shape]) => shapes.has(shape))))
}

function reachedBy({ method, template }: Call): Reached {
  const found = reachedRoutes().get(shapeOf(`${method} ${template}`))
  if (found === undefined) throw new Error(`pages ask for ${method} ${template}, which is no route`)
  return found
}

/**
 * What REST answers to a call of a site's page, without HTTP: also a refusal. `ctx` has the caller.
 * A comment on a page of another site is as unknown as another tenant's.
 */
export async function askRest(ctx: Ctx, site: Site, call: Call): Promise<Response> {
  try {
    return await answerCall(ctx, site, call)
  } catch (error) {
    const refusal = toServiceError(error, ctx.app.log, { requestId: ctx.requestId })
    countRefusal(ctx.app, 'rest', refusal.code)
    return problemResponse(refusal, ctx.requestId)
  }
}

const problemResponse = (refusal: ServiceError, requestId: string): Response =>
  new Response(JSON.stringify(problemOf(refusal, requestId)), {
    status: refusal.status,
    headers: { ...refusalHeaders(refusal), 'content-type': 'application/problem+json' },
  })

async function answerCall(ctx: Ctx, site: Site, call: Call): Promise<Response> {
  const { method, path, template, values, headers, body } = call
  const route = reachedBy(call)
  if (template.startsWith('/comments/:id') && !(await isCommentOf(ctx.app, site, inLowerCase(values[0] ?? ''))))
    throw noSuch('comment')
  const asked: RestRequest = {
    params: Object.fromEntries(route.names.map((name, n) => [name, values[n] ?? ''])),
    query: Object.fromEntries(new URLSearchParams(path.split('?', 2)[1])),
    body: body === null ? undefined : JSON.parse(Buffer.from(body).toString('utf8')),
  }
  if (route.pages !== undefined) {
    const page = await route.pages({ ctx, headers }, asked)
    if (page.bytes === null) return new Response(null, { status: 304, headers: { ...page.headers } })
    return new Response(new Uint8Array(page.bytes), { headers: { ...page.headers } })
  }
  const run = async (of: Ctx) => toAnswer(await route.compiled.answer(of, asked))
  const key = headers['idempotency-key']
  const answer =
    // What is done for a page without a reader, such as a ticket, is not remembered.
    key === undefined || !route.takesKey || ctx.caller?.identity == null
      ? { ...(await run(ctx)), replayed: false }
      : await runOnce(ctx, { key, method, url: API_BASE + path, rawBody: body ?? NOTHING }, run, OUTCOMES)
  const { status, contentType, body: text, replayed } = answer
  return new Response(contentType === null ? null : text, {
    status,
    headers: {
      ...(contentType !== null && { 'content-type': contentType }),
      ...(replayed && { 'idempotency-replayed': 'true' }),
    },
  })
}

const NOTHING = new Uint8Array()
