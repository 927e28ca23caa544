// The mails that confirm the address of a guest: the service asks for each by a signed POST.
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'

// A program of its own installs the package: `import … from 'engagement-service/webhooks'`.
import { type GuestMail, verifyGuestMail, WebhookVerificationError } from '../../src/clients/receiver/verify.ts'
import { plainName, send, webLink } from './mails.ts'

const MAX_BYTES = 16_384
// Longer than the service tries, which is 25 minutes.
const REMEMBERED_MS = 3_600_000

/** Takes requests of the service, and remembers in the folder which mails are sent. */
export function createGuestMailer(folder: string, secrets: readonly string[]) {
  const sent = openSent(join(folder, 'sent-to-guests'))
  const sending = new Map<string, Promise<void>>()

  /** Returns the status to answer. */
  return async function answer(request: IncomingMessage): Promise<number> {
    const body = await bodyOf(request)
    if (body === null) return 413
    let mail: GuestMail
    try {
      mail = verifyGuestMail(request.headers, body, secrets)
    } catch (error) {
      if (error instanceof WebhookVerificationError) return error.reason === 'malformed_body' ? 400 : 401
      throw error
    }
    // The body, which has the link, is the same whenever `webhook-id` is. The signature of
    // `verifyGuestMail` is over the body, and not over this header.
    const key = createHash('sha256').update(body).digest('hex')
    if (sent.has(key)) return 204
    // A second request for it, while the first one waits for SMTP, gets the answer of the first.
    let run = sending.get(key)
    if (run === undefined) {
      run = sendGuestMail(key, mail)
        .then(() => sent.add(key))
        .finally(() => sending.delete(key))
      sending.set(key, run)
    }
    try {
      await run
      return 204
    } catch (error) {
      // Without the address, which is in the message of an SMTP server.
      console.error('a mail to a guest was not accepted:', (error as { code?: string }).code ?? 'not valid')
      return 502
    }
  }
}

async function sendGuestMail(key: string, { email, name, url }: GuestMail): Promise<void> {
  const page = new URL(url)
  await send({
    to: email,
    messageId: key,
    subject: 'Confirm your e-mail address',
    lines: [
      `Hello ${plainName(name)},`,
      `somebody wants to comment at ${page.host}${page.pathname}, and gave this address. If it was you, open this link:`,
      webLink(url),
      'It is good for 30 minutes. If it was not you, do nothing: nothing happens without the link.',
    ],
  })
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_BYTES) return null
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The digests of mails that SMTP has accepted, in a file, so that a restart knows them. */
function openSent(file: string) {
  mkdirSync(join(file, '..'), { recursive: true })
  const times = new Map<string, number>()
  const forgetOld = (): void => {
    for (const [key, at] of times) if (at < Date.now() - REMEMBERED_MS) times.delete(key)
  }
  try {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const [key = '', at] = line.split(' ')
      if (at !== undefined) times.set(key, Number(at))
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  forgetOld()
  // Not in place: a kill in the middle would lose what was sent.
  writeFileSync(`${file}.new`, [...times].map(([key, at]) => `${key} ${at}\n`).join(''), { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return {
    has: (key: string): boolean => times.has(key),
    add(key: string): void {
      forgetOld()
      times.set(key, Date.now())
      appendFileSync(file, `${key} ${Date.now()}\n`, { flush: true })
    },
  }
}
