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
  method: string
  pattern: RegExp
  names: readonly string[]
  compiled: CompiledRoute
  takesKey: boolean
  /** Its pages of comments; absent where it has none. */
  pages?: ReturnType<typeof pagesOf>
}

const shapeOf = (text: string): string => text.replaceAll(/:\w+/g, ':')

let reached: readonly Reached[] | undefined

/** The routes that those of pages are made of. A page reaches no other. */
function reachedRoutes(): readonly Reached[] {
  if (reached !== undefined) return reached
  const shapes = new Set(PAGE_ROUTES.map(({ service }) => shapeOf(service)))
  const routes = [...routesOfProcess()].filter(([{ method, path }]) => shapes.has(shapeOf(`${method} ${path}`)))
  return (reached = routes.map(([route, compiled]) => ({
    method: route.method,
    pattern: new RegExp(`^${route.path.replaceAll(/:\w+/g, '([^/]+)')}$`),
    names: [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name),
    compiled,
    takesKey: takesIdempotencyKey(schema, route),
    ...(route.isDiscussionPage === true && { pages: pagesOf(route, compiled) }),
  })))
}

function findReached(method: string, path: string): { route: Reached; params: Record<string, string> } {
  for (const route of reachedRoutes()) {
    const found = route.method === method ? route.pattern.exec(path) : null
    if (found === null) continue
    const params = Object.fromEntries(route.names.map((name, n) => [name, decodeURIComponent(found[n + 1] ?? '')]))
    return { route, params }
  }
  throw new Error(`pages ask for ${method} ${path}, which is no route`)
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

async function answerCall(ctx: Ctx, site: Site, { method, path, headers, body }: Call): Promise<Response> {
  const [pathname = '', query = ''] = path.split('?', 2)
  const { route, params } = findReached(method, pathname)
  const commentId = /^\/comments\/([^/]+)/.exec(pathname)?.[1]
  if (commentId !== undefined && !(await isCommentOf(ctx.app, site, inLowerCase(commentId)))) throw noSuch('comment')
  const asked: RestRequest = {
    params,
    query: Object.fromEntries(new URLSearchParams(query)),
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
