import { newId } from '../../src/core/ids.ts'
import type { TestResponse, TestService } from './service.ts'

type EndOfToken = (service: TestService, of: { keyId: string; readerId: string }) => Promise<TestResponse>

/** What ends a client token. */
export const TOKEN_ENDS: readonly [what: string, end: EndOfToken][] = [
  ['a ban of its reader', (service, { readerId }) => service.call('POST', `/readers/${readerId}/ban`, { body: {} })],
  ['the erasure', (service, { readerId }) => service.call('DELETE', `/readers/${readerId}`)],
  [
    'a merge into another reader',
    async (service, { readerId }) => {
      const { json } = await service.call('GET', '/readers/me', { headers: await service.as(newId()) })
      return service.call('POST', `/readers/${readerId}/merge`, { body: { into: json.id } })
    },
  ],
  ['the end of its key', (service, { keyId }) => service.call('DELETE', `/keys/${keyId}`)],
]
