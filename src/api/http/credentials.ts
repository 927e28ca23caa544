import type { FastifyRequest } from 'fastify'

import type { App } from '../../core/app.ts'
import type { Actor, Identity, Tenant } from '../../core/caller.ts'
import { sentenceOf, ServiceError } from '../../core/errors.ts'
import { findCallerByToken } from '../../domains/client-tokens/tokens.ts'
import { findCallerByKey, recallCallerByKey } from '../../domains/api-keys/keys.ts'
import { findCallerBySignIn } from '../../domains/staff/sign-ins.ts'
import { tokenInCookie } from './console-cookie.ts'

export interface Principal {
  tenant: Tenant
  actor: Actor
  /** The reader of a client token. */
  identity?: Identity | null
}

/** The paths that a client token opens, and the key of a site. */
const CLIENT_PATHS: ReadonlySet<string> = new Set(['/graphql', '/graphql/stream'])

/** Whether a request is for a path that browsers open. */
export const opensToBrowsers = ({ routeOptions }: FastifyRequest): boolean => CLIENT_PATHS.has(routeOptions.url ?? '')

/** Names the header or query parameter of refused credentials. */
export const cameIn =
  (place: string) =>
  (error: unknown): never => {
    if (!(error instanceof ServiceError) || error.status !== 401) throw error
    throw new ServiceError(error.code, { ...error.extras, detail: `${place}: ${sentenceOf(error)}` })
  }

interface Credentials {
  apiKey?: string | undefined
  authorization?: string | undefined
  /** The admin token in the console's cookie, where it counts. */
  cookie?: string | undefined
  /** Whether a client token counts here. */
  takesClientTokens?: boolean
}

/** Treats an empty X-API-Key as absent: GraphiQL sends it empty until a key is entered. */
export const credentialsOf = (app: App, request: FastifyRequest): Credentials => ({
  apiKey: headerOf(request, 'x-api-key') || undefined,
  authorization: headerOf(request, 'authorization'),
  cookie: tokenInCookie(app, request),
  takesClientTokens: opensToBrowsers(request),
})

export function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The caller by `X-API-Key`, if this process has it cached; else undefined. */
export const recallCaller = (app: App, { apiKey, authorization, cookie }: Credentials): Principal | undefined =>
  apiKey === undefined || authorization !== undefined || cookie !== undefined
    ? undefined
    : recallCallerByKey(app, apiKey)

/**
 * The caller by `X-API-Key`, `Authorization: Bearer` or the console's cookie; null without any.
 * `beforeLookUp` runs before the database is queried for credentials that this process has never
 * found, and may refuse. Throws `ambiguous_credentials` for two of them, and each refusal of a key
 * or token.
 */
export async function authenticate(
  app: App,
  { apiKey, authorization, cookie, takesClientTokens = false }: Credentials,
  beforeLookUp?: () => void,
): Promise<Principal | null> {
  const given = [apiKey, authorization, cookie].filter((each) => each !== undefined)
  if (given.length > 1) throw new ServiceError('ambiguous_credentials')
  if (apiKey !== undefined) return findByKey(app, apiKey, beforeLookUp).catch(cameIn('X-API-Key'))
  if (cookie !== undefined) return findCallerBySignIn(app, cookie, beforeLookUp).catch(noneWhereInvalid)
  if (authorization === undefined) return null
  return findBearer(app, authorization, takesClientTokens, beforeLookUp).catch(cameIn('Authorization'))
}

/** A browser goes on sending a cookie whose sign-in has ended, also with the next login. */
function noneWhereInvalid(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'invalid_admin_token') return null
  throw error
}

async function findByKey(app: App, apiKey: string, beforeLookUp?: () => void): Promise<Principal> {
  if (MISSING.has(apiKey)) throw notThere()
  return findCallerByKey(app, apiKey, beforeLookUp)
}

/** What JavaScript and Python write into a text for a value that is missing. */
const MISSING: ReadonlySet<string> = new Set(['undefined', 'null', 'None'])

const notThere = (): ServiceError =>
  new ServiceError('missing_credentials', { detail: 'It has no value: the program that sends it lacks one.' })

async function findBearer(
  app: App,
  authorization: string,
  takesClientTokens: boolean,
  beforeLookUp?: () => void,
): Promise<Principal> {
  // The scheme is case-insensitive (RFC 9110, section 11.1).
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (/^Bearer *$/i.test(authorization) || MISSING.has(token ?? '')) throw notThere()
  if (token === undefined) throw refuseToken('It must be Bearer and an admin token.')
  if (token.startsWith('ek_')) throw refuseToken('It takes admin tokens; an API key goes into X-API-Key.')
  if (!token.startsWith('ct_')) return findCallerBySignIn(app, token, beforeLookUp)
  if (takesClientTokens) return findCallerByToken(app, token, beforeLookUp)
  throw refuseToken('It takes admin tokens; a client token opens only /graphql and /graphql/stream.')
}

const refuseToken = (detail: string): ServiceError => new ServiceError('invalid_admin_token', { detail })

/** The caller by `?token=`, a raw API key or an admin token. */
export const authenticateToken = (app: App, token: string, beforeLookUp?: () => void): Promise<Principal> => {
  const find = token.startsWith('ek_') ? findCallerByKey : findCallerBySignIn
  return find(app, token, beforeLookUp).catch(cameIn('token'))
}
