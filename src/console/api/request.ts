import { ApiError, type InvalidField, isExpiry } from './errors.ts'
import { expire, validToken, whoIsHere } from './session.ts'

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

/**
 * The answer to an operation, on behalf of the signed-in admin. Throws `ApiError`, or `TypeError`
 * without a network.
 */
export const request = <Result, Variables>(
  operation: Document<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Result> =>
  asAdmin((token) => send(operation, variables, { token, ...(signal === undefined ? {} : { signal }) }))

/** A file below `/api/v1/`, and the service's name for it. Throws as `request` does. */
export const requestFile = (path: string): Promise<{ name: string; content: Blob }> =>
  asAdmin(async (token) => {
    const response = await fetch(new URL(path, API), { headers: { authorization: `Bearer ${token}` } })
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

/**
 * Sends a request with the token of the signed-in admin. If the token has expired, the request
 * waits until the same admin has signed in again, and is sent once more: nothing typed is lost, and
 * nothing of one admin is sent by another, who may belong to another tenant.
 */
async function asAdmin<Result>(ask: (token: string) => Promise<Result>): Promise<Result> {
  const email = whoIsHere()
  for (;;) {
    const token = await validToken(email)
    try {
      return await ask(token)
    } catch (error) {
      if (!isExpiry(error)) throw error
      expire(token)
    }
  }
}

/** The same without a token. */
export async function send<Result, Variables>(
  operation: Document<Result, Variables>,
  variables: Variables,
  { token, signal }: { token?: string; signal?: AbortSignal } = {},
): Promise<Result> {
  const response = await fetch(GRAPHQL, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query: operation.toString(), variables }),
    ...(signal === undefined ? {} : { signal }),
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

function errorOf(message: string, { code, requestId, errors }: Refusal, { headers }: Response): ApiError {
  const retryAfter = headers.get('retry-after')
  return new ApiError(code ?? 'internal', message, {
    fields: errors ?? [],
    requestId: requestId ?? null,
    retryAfterSeconds: retryAfter === null ? null : Number(retryAfter),
  })
}
