import {
  AcceptInvitationDocument,
  LoginDocument,
  LogoutDocument,
  MeDocument,
  SwitchTenantDocument,
} from '../../generated/console.ts'
import { ApiError } from './errors.ts'
import { sendAll } from './outbox.ts'
import { request, send } from './request.ts'
import { signedIn, signedOut } from './session.ts'

interface Login {
  email: string
  password: string
  code?: string
  tenant?: string
}

/** Signs in, and keeps who it is. Throws `ApiError`. */
export async function login(input: Login): Promise<void> {
  const { login: made } = await send(LoginDocument, { input })
  await welcome(made?.token)
}

/** Accepts an invitation, and signs in. Throws `ApiError`. */
export async function accept(input: { token: string; name?: string; password: string; code?: string }): Promise<void> {
  const { acceptInvitation: made } = await send(AcceptInvitationDocument, { input })
  await welcome(made?.token)
}

/** Signs in to another tenant of the same member. */
export async function switchTenant(tenant: string): Promise<void> {
  await sendAll()
  await request(SwitchTenantDocument, { input: { tenant } })
  await welcome()
}

/** Takes over the sign-in that the cookie names by now. */
export async function welcome(token?: string | null): Promise<void> {
  if (typeof token === 'string') {
    throw new ApiError(
      'not_the_console',
      `The service does not know ${location.origin} as its own address. Its operator sets BASE_URL to it, or you open the console over https.`,
    )
  }
  const { me } = await send(MeDocument, {})
  if (me == null) throw new ApiError('missing_credentials', 'The browser has kept no cookie of the service.')
  signedIn(me.member, me.tenant.slug)
}

/** How long a sign-out waits for the answer to what was still to be sent. */
const LAST_WORDS_MS = 2_000

/** Signs out here and at the service, whether or not it answers. */
export async function signOut(): Promise<void> {
  await Promise.race([sendAll(), new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS))])
  const told = send(LogoutDocument, {}).catch(() => undefined)
  signedOut()
  await told
}
