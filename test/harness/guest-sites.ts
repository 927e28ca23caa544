import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

import { addGuestSite, easeProofs, giveBackLimits, startHandingOut } from './guests.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { startService, type TestService, type TestTenant, type TestResponse } from './service.ts'
import { keyOf, ORIGIN, page, type TestSite } from './sites.ts'
import { unnamed } from './sql.ts'

interface Options {
  hold?: number
  settings?: Record<string, unknown>
}

interface GuestSite {
  service: TestService
  mailer: Receiver
  /** Of the tenant of the service. */
  site: TestSite
  /** Its mail secret, by the `kid`. */
  secrets: Record<string, string>
  query<Row extends object>(sql: string, params?: unknown[]): Promise<Row[]>
  /** The address of a page without comments. */
  newPage(): string
  post(token: string, address?: string, body?: string, of?: TestSite): Promise<TestResponse>
  /** The comments that a page shows. */
  shownOn(address: string, of?: TestSite): Promise<string[]>
  /** Moves the requests of an address into the past: it has no clock of its own. */
  age(minutes: number): Promise<unknown>
  /** A tenant of its own, so that limits and settings are its own too. */
  another(options?: Options): Promise<{
    tenant: TestTenant
    site: TestSite
    headers: Record<string, string>
    /** Of its mail secret. */
    kid: string
  }>
}

/** A site that takes guests, whose mails are handed out. */
export function useGuestSite(): GuestSite {
  let pages = 0
  let tenants = 0
  let stopHandingOut: (() => Promise<unknown>) | undefined
  const at = {
    query: (sql, params = []) => at.service.app.db.query(unnamed(sql), params as never),
    newPage: () => `${ORIGIN}/page-${++pages}`,
    post: (token, address = at.newPage(), body = 'Hello', of = at.site) =>
      of.ask('POST', `/comments${page(address)}`, { body: { body }, token }),
    shownOn: async (address, of = at.site) =>
      ((await of.ask('GET', `/comments${page(address)}`)).json.data as { body: string }[]).map(({ body }) => body),
    age: (minutes) =>
      at.query(`UPDATE guest_requests SET created_at = created_at - $1::int * interval '1 minute'`, [minutes]),
    another: async (options = {}) => {
      const tenant = await at.service.addTenant(`guests-${++tenants}`)
      const mailUrl = `${at.mailer.url}/mails`
      const { mailSecret, ...site } = await addGuestSite(at.service, tenant, { mailUrl, ...options })
      return { tenant, site, headers: keyOf(tenant), kid: mailSecret.kid }
    },
  } as GuestSite
  beforeAll(async () => {
    easeProofs()
    at.mailer = await startReceiver()
    at.service = await startService({ worker: false, env: { WEBHOOK_CA_FILE: at.mailer.caFile } })
    const { mailSecret, ...site } = await addGuestSite(at.service, at.service, { mailUrl: `${at.mailer.url}/mails` })
    at.site = site
    at.secrets = { [mailSecret.kid]: mailSecret.secret }
    stopHandingOut = await startHandingOut(at.service.app)
  })
  beforeEach(() => giveBackLimits(at.service, at.site))
  afterEach(() => at.mailer.on('/mails', null))
  afterAll(async () => {
    await stopHandingOut?.()
    await at.service.close()
    await at.mailer.close()
  })
  return at
}
