import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_MS = 300_000

/**
 * Whether a request comes from the service. `headers` have names in lower case, as Node gives them;
 * `rawBody` is the body as it came, never parsed and printed again; `secrets` are the endpoint's:
 * after a rotation the new and the old one.
 */
export function isGenuine(headers, rawBody, secrets) {
  const timestamp = headers['x-service-timestamp'] ?? ''
  // What is no instant is NaN, and never within.
  if (!(Math.abs(Date.now() - Date.parse(timestamp)) <= TOLERANCE_MS)) return false
  const given = ['x-service-signature', 'x-service-signature-previous']
    .flatMap((name) => /v1=([0-9a-f]{64})/.exec(headers[name] ?? '')?.[1] ?? [])
    .map((hex) => Buffer.from(hex, 'hex'))
  const expected = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest(),
  )
  return given.some((one) => expected.some((other) => timingSafeEqual(one, other)))
}

// With Express:
//
// const secrets = process.env.ENGAGEMENT_WEBHOOK_SECRETS.split(',')
//
// app.post('/hooks', express.raw({ type: 'application/json' }), (request, response) => {
//   if (!isGenuine(request.headers, request.body, secrets)) return response.sendStatus(401)
//   const event = JSON.parse(request.body)
//   if (event.type === 'verification') return response.json({ challenge: event.challenge })
//   response.sendStatus(204) // answer first, work later
// })
