import { z } from 'zod'

import type { Settings } from '../../../core/settings/settings.ts'
import { atMost, isCleanUrl, namesHost } from '../../../core/input/texts.ts'
import { createAddressRule, createPortRule, literalAddress } from './addresses.ts'

export type UrlSettings = Pick<Settings, 'WEBHOOK_ALLOW_HTTP' | 'WEBHOOK_ALLOWED_CIDRS' | 'WEBHOOK_ALLOWED_PORTS'>

const MAX_URL_LENGTH = 2048

/**
 * The URL of a tenant's webhook, classifier, mailer or key set, which workers call
 * (docs/reference/choices/webhooks.md).
 */
export function outboundUrl(settings: UrlSettings): z.ZodType<string> {
  return atMost(MAX_URL_LENGTH, z.string()).superRefine((text, issues) => {
    const refusal = refuseUrl(text, settings)
    if (refusal !== null) issues.addIssue({ code: 'custom', message: refusal[1], params: { code: refusal[0] } })
  })
}

const FOR_DEVELOPMENT =
  'in development, to reach a program on the same machine, start the service with WEBHOOK_ALLOW_HTTP=true and WEBHOOK_ALLOWED_CIDRS=127.0.0.0/8'

/** What a developer does about a URL of the service's own machine; nothing of another one. */
export function developmentHint(url: URL): string {
  return /^(localhost|127(\.\d+){3})$/.test(url.hostname) ? `; ${FOR_DEVELOPMENT}` : ''
}

const NO_URL = 'must be a full address, such as https://example.com'

/**
 * Why a URL is refused, as code and message; a host name is checked at each connection, because its
 * addresses may change.
 */
export function refuseUrl(text: string, settings: UrlSettings): [code: string, message: string] | null {
  if (!isCleanUrl(text) || !URL.canParse(text)) return ['invalid_url', NO_URL]
  const url = new URL(text)
  const { protocol, username, password, hostname } = url
  const isHttp = protocol === 'http:' && settings.WEBHOOK_ALLOW_HTTP
  if (protocol !== 'https:' && !isHttp) return ['https_required', `must be an https URL${developmentHint(url)}`]
  if (!namesHost(text)) return ['invalid_url', 'must be a URL with its host after //']
  if (username !== '' || password !== '') return ['credentials_not_allowed', 'must not hold credentials']
  if (!createPortRule(settings)(url))
    return ['port_not_allowed', 'must not use a port that is kept for another kind of service']
  const address = literalAddress(hostname)
  if (address !== null && !createAddressRule(settings.WEBHOOK_ALLOWED_CIDRS)(address)) {
    return ['address_not_allowed', `must not point to a private or reserved address${developmentHint(url)}`]
  }
  return null
}
