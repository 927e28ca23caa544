import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { App } from '../../core/app.ts'
import { recordAudit } from '../../core/audit.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError } from '../../core/errors.ts'
import { validate } from '../../core/input/validate.ts'
import { askOutside } from '../../core/scope.ts'
import { createAddressRule } from '../webhooks/rules/addresses.ts'
import { developmentHint, outboundUrl } from '../webhooks/rules/urls.ts'

/** What a backend has answered, as a page would ask it. */
export interface BackendCheck {
  /** The address that was asked. */
  url: string
  /** Whether pages can use it. */
  answers: boolean
  /** What was found, in words. */
  finding: string
}

const RATE = { perSecond: 0.2, burst: 10 }

/**
 * Asks the backend of the tenant's pages for their settings, as the widget does first, through the
 * guarded agent. The audit log says who had which address asked. Throws `validation_failed`,
 * `rate_limited`.
 */
export async function checkBackend(ctx: Ctx, input: { url: string }): Promise<BackendCheck> {
  const { app } = ctx
  const { tenant } = requireCaller(ctx)
  const { url: base } = validate(z.object({ url: outboundUrl(app.settings) }), input)
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/settings`
  url.search = ''
  url.hash = ''
  const refusal = await askOutside(app, url.href, async (outside) => {
    const { isAllowed, retryAfterSeconds } = outside.limits.take('backendCheck', tenant.id, RATE)
    if (!isAllowed) throw new ServiceError('rate_limited', { retryAfterSeconds })
    const record = { action: 'backend.check', targetId: null, after: { url: url.href } } as const
    await outside.db.transaction((sql) => recordAudit(sql, ctx, record))
    return refusalOf(outside, url.href)
  })
  const finding = refusal ?? 'The backend answers: it gives pages their settings.'
  return { url: url.href, answers: refusal === null, finding }
}

const NOT_HERE =
  'its routes are not at this address. They are below /engagement of the site, unless it has another basePath.'

/** Why pages cannot use a backend; null if they can. Of its answer little is told. */
async function refusalOf({ fetch, settings }: App, url: string): Promise<string | null> {
  let answer: { status: number; text: string }
  try {
    answer = await fetch(url, { method: 'GET', headers: { accept: 'application/json' } })
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'request failed'
    // The name `localhost` is resolved with the request.
    const isOpen = createAddressRule(settings.WEBHOOK_ALLOWED_CIDRS)('127.0.0.1')
    const hint = isOpen ? '' : developmentHint(new URL(url))
    return `The backend does not answer: ${reason}${hint}.`
  }
  const { status, text } = answer
  const json = objectIn(text)
  const code = typeof json?.['code'] === 'string' && /^[a-z_]{1,40}$/.test(json['code']) ? ` ${json['code']}` : ''
  const said = `The backend answers ${status}${code}`
  if (status === 404) return `${said}: ${NOT_HERE}`
  if (status === 401 || status === 403) return `${said}: it must let readers read without a sign-in, by a valid key.`
  if (status >= 300 && status < 400) return `${said}, which leads elsewhere: name the address that it leads to.`
  if (status !== 200) return `${said}: its log says why.`
  if (json === null) return `${said} without JSON: ${NOT_HERE}`
  return Array.isArray(json['reactionTypes']) ? null : `${said} with other JSON than the settings of pages: ${NOT_HERE}`
}

function objectIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
