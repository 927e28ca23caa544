// A mailer: it sends the mails that confirm the addresses of guests, and those of what readers have
// not read. It listens behind the site's proxy, which has the certificate.
import { createServer } from 'node:http'
import { join } from 'node:path'

import { addressOf } from './addresses.ts'
import { createGuestMailer } from './guests.ts'
import { createInboxMailer } from './inbox.ts'

const { PORT = '4100', MAILER_FOLDER = 'mailer-data', MAIL_SECRET } = process.env
const { ENGAGEMENT_URL: url, ENGAGEMENT_API_KEY: apiKey } = process.env
const { INBOX_OLDER_THAN_SECONDS = '3600', INBOX_INTERVAL_SECONDS = '300' } = process.env
if (MAIL_SECRET === undefined) throw new Error('MAIL_SECRET is missing: POST /mail-secrets makes one')

// While a new secret takes the place of an old one, there are two, with a comma between them.
const answer = createGuestMailer(MAILER_FOLDER, MAIL_SECRET.split(','))

const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
  const isGuests = request.method === 'POST' && request.url === '/guests'
  const status = isGuests ? answer(request) : Promise.resolve(404)
  status.then(
    (code) => response.writeHead(code).end(),
    () => response.writeHead(500).end(),
  )
})
server.listen(Number(PORT), '127.0.0.1', () => console.log(`The mailer listens at http://127.0.0.1:${PORT}`))

// Without a key it serves guests alone.
if (url !== undefined && apiKey !== undefined) {
  const folder = join(MAILER_FOLDER, 'inbox')
  const olderThanSeconds = Number(INBOX_OLDER_THAN_SECONDS)
  const mailInboxes = createInboxMailer({ url, apiKey, folder, olderThanSeconds, addressOf })
  const run = (): void => {
    mailInboxes()
      .catch((error: unknown) => console.error('the inboxes were not mailed:', error))
      .finally(() => setTimeout(run, Number(INBOX_INTERVAL_SECONDS) * 1000))
  }
  run()
}
