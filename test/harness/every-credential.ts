import { bearing, addMember, fromElsewhere, NOBODY } from './members.ts'
import type { TestResponse, TestService, TestTenant } from './service.ts'

const CONSOLE = { 'x-requested-with': 'engagement-console', 'sec-fetch-site': 'same-origin' }

interface InUse {
  service: TestService
  tenant: TestTenant
  /** The id of the discussion "page". */
  discussionId: string
  /** An origin that the tenant allows. */
  origin: string
}

/** Requests with every kind of credentials of the tenant. */
export async function everyCredential(inUse: InUse): Promise<Record<string, () => Promise<TestResponse>>> {
  const { service, tenant, discussionId, origin } = inUse
  const key = { 'x-api-key': tenant.apiKey }
  const call = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
    service.call(method, path, { headers, body })
  const ask = (headers: Record<string, string>) =>
    service.graphql('{ discussion(by: { externalId: "page" }) { id } }', {}, { ...NOBODY, ...headers })
  const member = await addMember(service, tenant, 'owner')
  const { email, password } = member
  const login = (headers: object = {}) =>
    call('POST', '/admin/auth/login', { ...fromElsewhere(), ...headers }, { email, password })
  const cookie = (await login(CONSOLE)).headers.get('set-cookie')?.split(';')[0] ?? ''
  const assertion = await tenant.as('ada')
  const { token } = (await call('POST', '/client-tokens', { ...key, ...assertion }, {})).json
  const { ticket } = (await call('POST', '/stream/ticket', key, { discussionId })).json
  const site = { origin }
  /** A stream is left as soon as it has begun. */
  const open = async (path: string, headers: Record<string, string>): Promise<TestResponse> => {
    const stopping = new AbortController()
    const response = await fetch(service.url + path, { headers, signal: stopping.signal })
    const text = response.ok ? '' : await response.text()
    stopping.abort()
    return { status: response.status, headers: response.headers, text, json: text === '' ? {} : JSON.parse(text) }
  }
  return {
    'a key': () => call('GET', '/discussions', key),
    'a key at GraphQL': () => ask(key),
    'a key with an assertion': () => call('GET', '/readers/me', { ...key, ...assertion }),
    'a key at a stream': () => open(`/api/v1/stream/${discussionId}`, key),
    'a ticket': () => open(`/api/v1/stream/${discussionId}?ticket=${ticket}`, site),
    'an admin token': () => call('GET', '/admin/me', { ...NOBODY, ...member.headers }),
    'an admin token at GraphQL': () => ask(member.headers),
    'the cookie': () => call('GET', '/admin/me', { ...NOBODY, ...CONSOLE, cookie }),
    'the cookie at GraphQL': () => ask({ ...CONSOLE, cookie }),
    'a client token': () => ask({ ...bearing(token as string), ...site }),
    'a login': () => login(),
  }
}

const codeOf = ({ json }: TestResponse): unknown => json?.errors?.[0]?.extensions.code ?? json?.code

/** The status and the code of an answer of REST or GraphQL. */
export const outcomeOf = (answer: TestResponse): { status: number; code: unknown } => ({
  status: answer.status,
  code: codeOf(answer),
})

type Kinds = Awaited<ReturnType<typeof everyCredential>>

/** The outcome of a request with each of these credentials, by their names. */
export async function outcomesOf(kinds: Kinds): Promise<Record<string, object>> {
  const answers = Object.entries(kinds).map(async ([name, use]) => [name, outcomeOf(await use())] as const)
  return Object.fromEntries(await Promise.all(answers))
}

/** The same outcome for each of these credentials. */
export const eachOf = (kinds: Kinds, outcome: object): Record<string, object> =>
  Object.fromEntries(Object.keys(kinds).map((name) => [name, outcome]))
