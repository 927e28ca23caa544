import { ApiError, type Choice, type InvalidField, isExpiry } from './errors.ts'
import { expire, validSession, whoIsHere } from './session.ts'

/**
 * A document of `src/generated/console.ts`: its text, and the types of its variables and result.
 */
export interface Document<Result, Variables> {
  toString(): string
  __apiType?: (variables: Variables) => Result
}

interface Refusal {
  code?: string
  requestId?: string
  errors?: InvalidField[]
  /** What to choose from, of `tenant_required`. */
  tenants?: Choice[]
}

interface GraphQLResponse<Result> {
  data?: Result | null
  errors?: { message: string; extensions?: Refusal }[]
}

/** A refusal before an operation runs, for instance of a token. */
interface Problem extends Refusal {
  code: string
  detail: string
}

/** The service that served the page, whatever path a proxy has put in front. */
const GRAPHQL = new URL('../graphql', document.baseURI)
const API = new URL('../api/v1/', document.baseURI)

/** By this header the service knows its console: the cookie counts beside it alone. */
export const FROM_CONSOLE = { 'x-requested-with': 'engagement-console' }

/**
 * The answer to an operation, on behalf of the signed-in member. Throws `ApiError`, or `TypeError`
 * without a network.
 */
export const request = <Result, Variables>(
  operation: Document<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Result> => asMember(() => send(operation, variables, signal === undefined ? {} : { signal }))

/** `request` that goes on when the page is closed. Browsers bound its size to 64 KB. */
export const requestToTheEnd = <Result, Variables>(
  operation: Document<Result, Variables>,
  variables: Variables,
): Promise<Result> => asMember(() => send(operation, variables, { keepalive: true }))

/** A file below `/api/v1/`, and the service's name for it. Throws as `request` does. */
export const requestFile = (path: string): Promise<{ name: string; content: Blob }> =>
  asMember(async () => {
    const response = await fetch(new URL(path, API), { headers: FROM_CONSOLE })
    if (!response.ok) {
      const problem = await answerOf<never>(response)
      throw errorOf(
        'detail' in problem ? problem.detail : 'There is no file.',
        'code' in problem ? problem : {},
        response,
      )
    }
    const [, name = 'file'] = /filename="(.+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
    return { name, content: await response.blob() }
  })

/** Puts bytes below `/api/v1/`. Throws as `request` does. */
export const putBytes = (path: string, body: Blob): Promise<void> =>
  asMember(async () => {
    const headers = { 'content-type': 'application/octet-stream', ...FROM_CONSOLE }
    const response = await fetch(new URL(path, API), { method: 'PUT', headers, body })
    if (response.ok) return
    const problem = await answerOf<never>(response)
    throw errorOf(
      'detail' in problem ? problem.detail : 'The part was refused.',
      'code' in problem ? problem : {},
      response,
    )
  })

/**
 * Sends a request on behalf of the signed-in member. If the sign-in has ended, the request waits
 * until the same member has signed in again, and is sent once more: nothing typed is lost, and
 * nothing of one member is sent by another, who may belong to another tenant.
 */
async function asMember<Result>(ask: () => Promise<Result>): Promise<Result> {
  const memberId = whoIsHere()
  for (;;) {
    const stamp = await validSession(memberId)
    try {
      return await ask()
    } catch (error) {
      if (!isExpiry(error)) throw error
      expire(stamp)
    }
  }
}

/** Sends an operation once, with the present cookie if there is one. */
export async function send<Result, Variables>(
  operation: Document<Result, Variables>,
  variables: Variables,
  options: { signal?: AbortSignal; keepalive?: boolean } = {},
): Promise<Result> {
  const response = await fetch(GRAPHQL, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', ...FROM_CONSOLE },
    body: JSON.stringify({ query: operation.toString(), variables }),
    ...options,
  })
  const answer = await answerOf<Result>(response)
  if ('detail' in answer) throw errorOf(answer.detail, answer, response)
  return resultOf(answer, response)
}

async function answerOf<Result>(response: Response): Promise<GraphQLResponse<Result> | Problem> {
  try {
    return (await response.json()) as GraphQLResponse<Result> | Problem
  } catch {
    throw new ApiError('unreadable', `The service answered ${response.status} with something else than JSON.`)
  }
}

function resultOf<Result>({ data, errors }: GraphQLResponse<Result>, response: Response): Result {
  const [error] = errors ?? []
  if (error !== undefined) throw errorOf(error.message, error.extensions ?? {}, response)
  if (data == null) throw new ApiError('unreadable', 'The service answered without data.')
  return data
}

function errorOf(message: string, { code, requestId, errors, tenants }: Refusal, { headers }: Response): ApiError {
  const retryAfter = headers.get('retry-after')
  return new ApiError(code ?? 'internal', message, {
    fields: errors ?? [],
    tenants: tenants ?? [],
    requestId: requestId ?? null,
    retryAfterSeconds: retryAfter === null ? null : Number(retryAfter),
  })
}
