// A mailer: it sends the mails that confirm the addresses of guests. It listens behind the site's
// proxy, which has the certificate.
import { createServer } from 'node:http'

import { createGuestMailer } from './guests.ts'

const { PORT = '4100', MAILER_FOLDER = 'mailer-data', MAIL_SECRET } = process.env
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
