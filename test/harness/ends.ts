import { newId } from '../../src/core/ids.ts'
import { changeMember, operatorOf, removeMember } from '../../src/domains/staff/membership.ts'
import { setPassword } from '../../src/domains/staff/operators.ts'
import type { TestResponse, TestService } from './service.ts'

type EndOfMember = (service: TestService, email: string) => Promise<unknown>

/** What ends the streams of a member who... */
export const MEMBER_ENDS: readonly [who: string, end: EndOfMember][] = [
  ['is gone', ({ app, tenant }, email) => removeMember(app, operatorOf(tenant.id), { email })],
  ['has another password', ({ app, tenant }, email) => setPassword(app, tenant.id, email)],
  [
    'is disabled',
    ({ app, tenant }, email) => changeMember(app, operatorOf(tenant.id), { email }, { state: 'disabled' }),
  ],
  [
    'has another role',
    ({ app, tenant }, email) => changeMember(app, operatorOf(tenant.id), { email }, { role: 'analyst' }),
  ],
]

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
