import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { expect, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { CHANNELS } from '../../src/core/bus.ts'
import { DIFFICULTY } from '../../src/domains/guests/proof.ts'
import { openOutbound } from '../../src/outbound/outbound.ts'
import { startGuestMails } from '../../src/worker/guest-mails.ts'
import type { Received, Receiver } from './receiver.ts'
import type { TestService, TestTenant } from './service.ts'
import { addSite, type AsksSite, keyOf, ORIGIN, type TestSite } from './sites.ts'
import { unnamed } from './sql.ts'

/** The work of a test's proofs: what a browser's costs is measured by the bench. */
export const easeProofs = (): void => void (DIFFICULTY.counter = 4)

export const PAGE = `${ORIGIN}/article`

/** Fills the buckets of a site's guests again: all tests come from one address of the internet. */
export function giveBackLimits({ app }: TestService, { id }: { id: string }): void {
  for (const kind of ['guest', 'guestLink'] as const)
    app.limits.giveBack(kind, `${id}/127.0.0.1`, { perSecond: 1, burst: 10 }, 10)
}

interface GuestSiteOptions {
  /** Null: mails go nowhere. */
  mailUrl: string | null
  settings?: Record<string, unknown>
  hold?: number
}

interface GuestSite extends TestSite {
  mailSecret: { kid: string; secret: string }
}

/** A site that takes guests. Its tenant has an issuer as well. */
export async function addGuestSite(
  service: TestService,
  tenant: TestTenant,
  { mailUrl, settings = {}, hold }: GuestSiteOptions,
): Promise<GuestSite> {
  const guests = { mailUrl, ...(hold !== undefined && { hold }) }
  const site = await addSite(service, tenant, { settings: { ...settings, guests } })
  const headers = keyOf(tenant)
  await service.ok('PATCH', `/sites/${site.id}`, { guests: 'email' }, headers)
  const { json: mailSecret } = await service.call('POST', '/mail-secrets', { headers })
  return { ...site, mailSecret }
}

/**
 * What hands out mails, alone: a worker would also ask for the keys of the issuer, which is not
 * there.
 */
export async function startHandingOut(app: App): Promise<() => Promise<unknown>> {
  const outbound = openOutbound(app.settings)
  const task = startGuestMails(app, outbound)
  const unsubscribe = await app.bus.subscribe(CHANNELS.work, () => task.wake())
  return async () => {
    unsubscribe()
    await task.stop(0)
    outbound.close()
  }
}

/** A solved challenge, as clients of ALTCHA send it. */
export async function solve(site: AsksSite): Promise<string> {
  const { status, json, text } = await site.ask('GET', '/challenge')
  expect(status, text).toBe(200)
  return proofOf(json as Challenge)
}

export async function proofOf(challenge: Challenge): Promise<string> {
  const solution = await solveChallenge({ challenge, deriveKey })
  return encode({ challenge, solution })
}

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

export const decode = (proof: string): { challenge: Challenge; solution: Record<string, unknown> } =>
  JSON.parse(Buffer.from(proof, 'base64').toString('utf8')) as never

/** Asks for a mail to an address. */
export async function askFor(site: AsksSite, email: string, more: Record<string, unknown> = {}) {
  const body = { name: 'Gia', email, pageUrl: PAGE, proof: await solve(site), ...more }
  return site.ask('POST', '/guests', { body })
}

/** The mails that a mailer was given for an address. */
export const mailsTo = (mailer: Receiver, email: string): Received[] =>
  mailer.requests.filter(({ body }) => body['email'] === email)

/** The token in the link of a mail. */
export const linkTokenOf = ({ body }: Received): string => String(body['url']).split('#engagement-guest=')[1] ?? ''

/** Waits for the newest mail to an address, and confirms it. */
export async function confirm(site: AsksSite, mailer: Receiver, email: string, nth = 1) {
  await vi.waitFor(() => expect(mailsTo(mailer, email).length).toBeGreaterThanOrEqual(nth))
  const mail = mailsTo(mailer, email)[nth - 1]
  if (mail === undefined) throw new Error('no mail came')
  return site.ask('POST', '/guests/confirm', { body: { token: linkTokenOf(mail) } })
}

/** A guest with a token of their own. */
export async function addGuest(site: AsksSite, mailer: Receiver, email: string): Promise<GuestOf> {
  const asked = await askFor(site, email)
  expect(asked.status, asked.text).toBe(202)
  const { status, json, text } = await confirm(site, mailer, email)
  expect(status, text).toBe(200)
  return json.data as GuestOf
}

/** Makes a reader one whom the service itself has signed in, without a mail: that of `$2`. */
export const MAKE_GUEST = unnamed(`UPDATE readers SET external_id = 'guest:' || id WHERE tenant_id = $1 AND id = $2`)

interface GuestOf {
  token: string
  expiresAt: string
  reader: { id: string; name: string }
}
