import { z } from 'zod'

import type { Role } from '../../../core/capabilities.ts'
import { readClaim } from '../../../core/input/claims.ts'
import { atMost, noNul } from '../../../core/input/texts.ts'
import type { OidcSettings } from '../../../core/settings/tenant.ts'
import { emailForm } from '../accounts.ts'
import { memberEmail, memberName } from '../membership.ts'
import type { Claims } from './provider.ts'
import { refuseSignOn } from './refusals.ts'

/** Who signs in, as the tenant's settings read the claims. */
export interface Person {
  subject: string
  email: string
  name: string | null
  role: Exclude<Role, 'owner'>
}

/** From the most to the least: of several roles the first counts. */
const ORDER = ['admin', 'editor', 'moderator', 'developer', 'analyst'] as const satisfies Exclude<Role, 'owner'>[]

const subjectSchema = noNul(atMost(255, z.string().min(1)))

/** Entra ID says of an address whether the owner of its domain was verified. */
const isVerified = ({ email_verified: own, xms_edov: ofDomain }: Claims): boolean =>
  [true, 'true', 1, '1'].includes((own ?? ofDomain) as never)

/** Refuses without a verified address of the tenant's domains, and without a role. */
export function personOf(claims: Claims, { emailDomains, roleClaim, roles, defaultRole }: OidcSettings): Person {
  const email = memberEmail.safeParse(claims.email)
  const subject = subjectSchema.safeParse(claims.sub)
  if (!email.success || !subject.success || !isVerified(claims)) throw refuseSignOn('no_email')
  const address = emailForm(email.data)
  if (!emailDomains.includes(address.slice(address.lastIndexOf('@') + 1))) throw refuseSignOn('wrong_domain')
  const role = roleOf(roleClaim === null ? undefined : readClaim(claims, roleClaim), roles) ?? defaultRole
  if (role === null) throw refuseSignOn('no_role')
  const name = memberName.safeParse(claims.name)
  return { subject: subject.data, email: address, name: name.success ? name.data : null, role }
}

function roleOf(claim: unknown, roles: OidcSettings['roles']): Person['role'] | undefined {
  const values = (Array.isArray(claim) ? claim : [claim]).filter((value) => typeof value === 'string')
  const given = new Set(values.flatMap((value) => (Object.hasOwn(roles, value) ? (roles[value] ?? []) : [])))
  return ORDER.find((role) => given.has(role))
}
