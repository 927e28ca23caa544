import { GuestMailerDocument, IdentityProviderDocument } from '../../../generated/console.ts'
import type { Finding } from '../../ui/findings.tsx'
import { request } from '../../api/request.ts'
import { lackOf } from './mailer-words.ts'
import { askSite, type Site } from './service.ts'

const good = (text: string): Finding => ({ isGood: true, text })
const bad = (text: string): Finding => ({ isGood: false, text })

/**
 * Asks the service what a page at this address would ask, and, with a reader's token, who that is.
 * Throws where the service cannot be reached.
 */
export async function checkPage(site: Site, address: string, token: string): Promise<Finding[]> {
  const given = address.trim()
  if (!/^https?:/i.test(given) || !URL.canParse(given))
    return [bad('This is no address of a page: it begins with https:// or http://.')]
  const findings = [...(await checkComments(site, new URL(given))), await checkIssuer(site)]
  if (site.guests === 'email') findings.push(...(await checkMailer()))
  if (!site.posting) findings.push(bad('Nobody can write: posting is off. Edit the site to turn it on.'))
  if (token !== '') findings.push(await checkToken(site, token))
  return findings
}

async function checkComments({ publicKey, origins }: Site, { origin, pathname }: URL): Promise<Finding[]> {
  if (!origins.includes(origin))
    return [bad(`${origin} is not among the origins of the site. Edit the site to add it.`)]
  const externalId = origin + pathname
  const { status, body } = await askSite(publicKey, '/thread', { externalId, limit: '1' })
  const listed = good(`${origin} is an origin of the site.`)
  if (status !== 200) return [listed, bad(`The service answers ${status}: ${detailOf(body)}`)]
  const { commentCount = null } = (body.discussion ?? {}) as { commentCount?: number | null }
  const shown = commentCount === null ? 'no comments yet' : `${commentCount} comment${commentCount === 1 ? '' : 's'}`
  return [listed, good(`The service answers: ${externalId} has ${shown}.`)]
}

/** Whether tokens of the tenant's issuer can be checked. */
async function checkIssuer({ publicKey }: Site): Promise<Finding> {
  const { settings, identityKeySet: keys } = await request(IdentityProviderDocument, {})
  const { issuer, jwksUrl } = settings.identity
  if (jwksUrl === null || issuer === null) {
    const { body } = await askSite(publicKey, '/settings', {})
    return body.guests === true
      ? good('Guests are on. No issuer is set for other readers.')
      : bad('Readers can only read: no issuer is set (Settings, identity).')
  }
  if (keys == null || keys.fetchedAt === null)
    return bad(
      `The keys of ${issuer} have not been fetched from ${jwksUrl}: ${keys?.error ?? 'no attempt was made yet'}.`,
    )
  if (keys.state === 'dropped') return bad(`The keys of ${issuer} are too old: ${jwksUrl} fails with ${keys.error}.`)
  return good(`${issuer} has ${keys.keyCount === 1 ? '1 key' : `${keys.keyCount} keys`} to check tokens with.`)
}

/** What is wrong with the mailer, which guests need. */
async function checkMailer(): Promise<Finding[]> {
  const { guestMailer } = await request(GuestMailerDocument, {})
  const lack = lackOf(guestMailer)
  return lack === null ? [] : [bad(lack)]
}

async function checkToken({ publicKey }: Site, token: string): Promise<Finding> {
  const { status, body } = await askSite(publicKey, '/me', { signedIn: '1' }, token)
  const reader = body.reader as { id: string; name: string | null } | null | undefined
  if (status !== 200 || reader == null) return bad(`The token is refused: ${detailOf(body)}`)
  return good(`The token is that of ${reader.name ?? 'a reader without a name'}, with the id ${reader.id}.`)
}

const detailOf = ({ detail, title }: Readonly<Record<string, unknown>>): string =>
  typeof detail === 'string' ? detail : typeof title === 'string' ? title : 'without a reason.'
