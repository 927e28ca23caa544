import { createHash } from 'node:crypto'

import { SignJWT } from 'jose'
import { z } from 'zod'

import type { DemoService } from './service.ts'

export interface Reader {
  /** The reader's id in the tenant's own user table. */
  id: string
  name: string
}

export interface Backend {
  post<Answer>(path: string, answer: z.ZodType<Answer>, body: object, reader?: Reader): Promise<Answer>
  get<Answer>(path: string, answer: z.ZodType<Answer>): Promise<Answer>
  patch(path: string, body: object): Promise<unknown>
  /** What a reader's browser needs to open the stream of a page. */
  ticket(externalId: string, reader: Reader): Promise<z.infer<typeof ticketSchema>>
  /** The number of the last event of the discussion of a page. */
  position(externalId: string): Promise<number>
}

const discussionSchema = z.object({ lastEventId: z.string() })
const ticketSchema = z.object({ discussionId: z.string(), streamUrl: z.url(), lastEventId: z.string() })

/**
 * The publisher's backend: it holds the API key and the identity secret, and knows who is logged
 * in.
 */
export function createBackend({
  url,
  tenant,
  apiKey,
  identitySecret,
}: Pick<DemoService, 'url' | 'tenant' | 'apiKey' | 'identitySecret'>): Backend {
  const key = new TextEncoder().encode(identitySecret)
  const kid = createHash('sha256').update(identitySecret).digest('hex').slice(0, 8)

  /** Vouches for a reader for five minutes, and for this body only. */
  const sign = (reader: Reader, body: string): Promise<string> =>
    new SignJWT({ name: reader.name, bodySha256: createHash('sha256').update(body).digest('base64url') })
      .setProtectedHeader({ alg: 'HS256', kid })
      .setSubject(reader.id)
      .setAudience(tenant)
      .setIssuedAt()
      .setExpirationTime('5 min')
      .sign(key)

  async function call<Answer>(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    answer: z.ZodType<Answer>,
    { body, reader }: { body?: string; reader?: Reader | undefined },
  ): Promise<Answer> {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        'X-API-Key': apiKey,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(reader === undefined ? {} : { 'X-Service-Identity': await sign(reader, body ?? '') }),
      },
      ...(body === undefined ? {} : { body }),
    })
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
    return answer.parse(await response.json())
  }

  const post: Backend['post'] = (path, answer, body, reader) =>
    call('POST', path, answer, { body: JSON.stringify(body), reader })
  const get: Backend['get'] = (path, answer) => call('GET', path, answer, {})
  return {
    post,
    get,
    patch: (path, body) => call('PATCH', path, z.unknown(), { body: JSON.stringify(body) }),
    ticket: (externalId, reader) => post('/stream/ticket', ticketSchema, { externalId }, reader),
    position: async (externalId) => {
      const path = `/discussions/by-external/${encodeURIComponent(externalId)}`
      return Number((await get(path, discussionSchema)).lastEventId)
    },
  }
}
