import type { App } from '../core/app.ts'
import { signedHeaders } from '../core/delivery/request.ts'
import { newId } from '../core/ids.ts'
import { openSecrets } from '../core/secrets/signing-secrets.ts'
import { noteFailure, noteSuccess } from '../domains/guests/mailer.ts'
import { deferMail, type DueMail, endMail, leaseMails, retryInMs } from '../domains/guests/mails.ts'
import { openMail } from '../domains/guests/requests.ts'
import { loadTenant } from '../domains/tenants/tenants.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { countByTenant, startTask, type Task } from './tasks.ts'

const MAX_IN_FLIGHT = 128
/** The most mails of one tenant, whose mailer may hang. */
const MAX_PER_TENANT = 16
const TIMEOUT_MS = 10_000
// Longer than an attempt and its record take, so that no second worker begins it.
const LEASE_MS = 30_000

/**
 * Hands the mails for guests to the tenants' mailers, which send them. An address is in the body
 * alone: neither logs nor errors have it.
 */
export const startGuestMails = (app: App, outbound: Outbound): Task =>
  startTask<DueMail>(app, {
    name: 'guest mails',
    maxInFlight: MAX_IN_FLIGHT,
    lease: (limit, inFlight) => {
      const busy = countByTenant(inFlight)
      return leaseMails(app.db.query, { busy, perTenant: MAX_PER_TENANT, limit, leaseMs: LEASE_MS })
    },
    perform: async (mail, signal) => {
      const { tenantId, id, attempts } = mail
      const { mailUrl: url } = (await loadTenant(app, tenantId)).settings.guests
      // The tenant takes no guests any more.
      if (url === null) return void (await endMail(app, mail))
      const { error, wasSent } = await handOut(app, outbound, { ...mail, url }, signal)
      if (signal.aborted) return
      if (error === null) {
        await endMail(app, mail)
        return void (await noteSuccess(app, { tenantId, url }))
      }
      app.log.warn({ tenantId, guestRequestId: id, attempts, error }, 'the mail for a guest was not handed out')
      await deferMail(app, mail, retryInMs(attempts))
      // What was not sent says nothing of the mailer.
      if (wasSent) await noteFailure(app, { tenantId, url, error })
    },
    release: (mail) => deferMail(app, mail, 0),
    idsOf: ({ id }) => ({ guestRequestId: id }),
  })

interface HandedOut {
  /** Why the mailer has not taken the mail; null if it has. */
  error: string | null
  wasSent: boolean
}

const unsent = (error: string): HandedOut => ({ error, wasSent: false })

async function handOut(
  app: App,
  outbound: Outbound,
  due: DueMail & { url: string },
  signal: AbortSignal,
): Promise<HandedOut> {
  const { tenantId, id, url } = due
  const mail = openMail(app.settings, tenantId, id, due.sealed)
  const secrets = openSecrets(app.settings, tenantId, due.secrets)
  if (due.secrets === null) return unsent('there is no mail secret: create one')
  if (mail === null || secrets === null) return unsent('the address or the secret cannot be opened')
  const event = 'guest_mail'
  const body = JSON.stringify({ email: mail.email, name: mail.name, url: mail.url })
  const request = {
    prefix: app.settings.HEADER_PREFIX,
    event,
    deliveryId: newId(),
    // The same at each attempt: a mailer that knows it has sent the mail.
    idempotencyKey: `${event}:${id}`,
  }
  const headers = signedHeaders(request, secrets, new Date(), body)
  const { error, statusCode } = await outbound.post({ url, headers, body, timeoutMs: TIMEOUT_MS, signal })
  const isTaken = statusCode !== null && statusCode >= 200 && statusCode < 300
  return { error: error ?? (isTaken ? null : `status ${statusCode}`), wasSent: true }
}
