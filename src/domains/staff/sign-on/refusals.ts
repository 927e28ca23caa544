/** Why a sign-on is refused. The console has the words (docs/guides/single-sign-on.md). */
export type SignOnRefusal =
  | 'unknown_tenant'
  | 'tenant_suspended'
  | 'not_configured'
  | 'provider_failed'
  | 'expired'
  | 'no_email'
  | 'wrong_domain'
  | 'no_role'
  | 'other_person'
  | 'owner'
  | 'disabled'
  | 'rate_limited'

export class SignOnRefused extends Error {
  readonly reason: SignOnRefusal

  constructor(reason: SignOnRefusal, cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
  }
}

export const refuseSignOn = (reason: SignOnRefusal, cause?: unknown): SignOnRefused => new SignOnRefused(reason, cause)
