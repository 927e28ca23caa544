import { TOTP } from 'otpauth'

import type { Role } from '../../src/core/capabilities.ts'
import { newId } from '../../src/core/ids.ts'
import type { TestService, TestTenant } from './service.ts'

/** A member who can sign in. */
export interface TestMember {
  id: string
  email: string
  password: string
  role: Role
  /** The headers of a request with their token. */
  headers: Record<string, string>
}

export const NOBODY = { 'x-api-key': '' }

/** The headers of a request with an admin token. */
export const bearing = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

let addresses = 0

/** No credentials, from another address each time, where the service trusts one proxy. */
export const fromElsewhere = (): Record<string, string> => {
  addresses++
  return { ...NOBODY, 'x-forwarded-for': `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}` }
}

interface Login {
  email: string
  password: string
  tenant?: string
}

/** Signs in. Throws where that is refused. */
export async function tokenFor(service: TestService, { email, password, tenant }: Login): Promise<string> {
  const body = { email, password, tenant }
  const { status, json, text } = await service.call('POST', '/admin/auth/login', { headers: fromElsewhere(), body })
  if (status !== 200) throw new Error(text)
  return json.token as string
}

/** Invites a person to a tenant, who accepts. */
export async function addMember(
  service: TestService,
  tenant: TestTenant,
  role: Role,
  email = `${role}-${newId()}@example.com`,
): Promise<TestMember> {
  const password = 'a password of their own'
  const owner = bearing(await tokenFor(service, { ...tenant.admin, tenant: tenant.tenant.slug }))
  const invited = await service.call('POST', '/admin/members', { headers: owner, body: { email, role } })
  if (invited.status !== 201) throw new Error(invited.text)
  const token = invitationIn(invited.json)
  const body = { token, name: `The ${role}`, password }
  const accepted = await service.call('POST', '/admin/auth/accept', { headers: fromElsewhere(), body })
  if (accepted.status !== 200) throw new Error(accepted.text)
  return { id: invited.json.id, email, password, role, headers: bearing(accepted.json.token) }
}

/** The token in an answer with an invitation. */
export const invitationIn = (json: { invitation: { url: string } }): string =>
  new URL(json.invitation.url).hash.slice(1)

/** The code that an app with this secret shows, now or some steps later. */
export const codeOf = (secret: string, steps = 0): string =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })
