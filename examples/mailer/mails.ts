// The texts of the mails, and what sends them. What strangers write, their names above all, stays
// out of the headers. It is escaped in HTML, and nothing in a name becomes a link.
import { createTransport } from 'nodemailer'

export interface Mail {
  to: string
  /** The same whenever it is sent again: mailboxes that know it show it once. */
  messageId: string
  subject: string
  lines: Line[]
}

/** A paragraph, or a link in a paragraph of its own. */
export type Line = string | { link: string }

const { SMTP_URL = 'smtp://127.0.0.1:25', MAIL_FROM = 'comments@example.com' } = process.env

// The service waits for 10 s. A server of mails that is not there has to be noticed before.
const smtp = createTransport({
  url: SMTP_URL,
  connectionTimeout: 3000,
  greetingTimeout: 3000,
  socketTimeout: 5000,
  disableFileAccess: true,
  disableUrlAccess: true,
})

/** Returns once the SMTP server has accepted the mail, and throws where it has not. */
export async function send({ to, messageId, subject, lines }: Mail): Promise<void> {
  const html = lines.map((line) => `<p>${typeof line === 'string' ? escaped(line) : anchor(line.link)}</p>`)
  await smtp.sendMail({
    from: MAIL_FROM,
    // As an object: a text can list several addresses.
    to: { name: '', address: addressIn(to) },
    messageId: `<${messageId}@${MAIL_FROM.split('@').pop()?.replace('>', '')}>`,
    subject,
    text: lines.map((line) => (typeof line === 'string' ? line : line.link)).join('\n\n'),
    html: html.join('\n'),
    headers: { 'Auto-Submitted': 'auto-generated' },
  })
}

/** It cannot be sent, however often it is tried. */
export class UnmailableError extends Error {}

const NOT_IN_ADDRESSES = /[\p{C}\s<>()[\]\\,;:"]/u

/** Throws for a text that is more than one plain address. */
function addressIn(text: string): string {
  const [local, domain, ...more] = text.split('@')
  const isOne = local !== '' && domain !== undefined && domain !== '' && more.length === 0
  if (!isOne || text.length > 254 || NOT_IN_ADDRESSES.test(text))
    throw new UnmailableError('this is no address for a mail')
  return text
}

/** In one line, without controls, and without what programs of mail make a link of. */
export const plainName = (name: string): string =>
  name
    .replace(/[\p{C}\s]+/gu, ' ')
    .replace(/[./:@\\]+(?=\S)/g, ' ')
    .trim()
    .slice(0, 100)

/** Throws for an address that is not of the web, such as `javascript:`. */
export function webLink(url: string): Line {
  const { protocol, href } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') throw new UnmailableError('this is no address of the web')
  return { link: href }
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')

const anchor = (link: string): string => `<a href="${escaped(link)}">${escaped(link)}</a>`
