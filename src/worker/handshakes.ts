import { CHANNELS } from '../core/bus.ts'
import type { App } from '../core/app.ts'
import { signedHeaders } from '../core/delivery/request.ts'
import { newId } from '../core/ids.ts'
import { openHeaders, withOwnHeaders } from '../core/delivery/own-headers.ts'
import { openSecrets } from '../core/secrets/signing-secrets.ts'
import { type Handshake, leaseHandshakes, recordHandshake, releaseHandshake } from './statements/handshake-sql.ts'
import type { OutboundAnswer } from '../outbound/exchange.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { countByTenant, startTask, type Task } from './tasks.ts'

const MAX_IN_FLIGHT = 512
/** The most handshakes of one tenant, whose endpoints may hang. */
const MAX_PER_TENANT = 64
/** How long an endpoint may take to answer (docs/reference/choices/webhooks.md). */
const TIMEOUT_MS = 30_000
// Longer than the handshake can take, so that no second worker begins it.
const LEASE_MS = 40_000

/** Makes the ownership handshakes that are due (docs/reference/choices/webhooks.md). */
export const startHandshakes = (app: App, outbound: Outbound): Task =>
  startTask<Handshake>(app, {
    name: 'handshakes',
    maxInFlight: MAX_IN_FLIGHT,
    lease: (limit, inFlight) => {
      const busy = countByTenant(inFlight)
      return leaseHandshakes(app.db.query, { busy, perTenant: MAX_PER_TENANT, limit, leaseMs: LEASE_MS })
    },
    perform: async (handshake, signal) => {
      const error = await shakeHands(app, outbound, handshake, signal)
      if (signal.aborted) return
      const counted = await recordHandshake(app.db.query, handshake, error, new Date())
      app.log.debug({ endpointId: handshake.endpointId, error, counted }, 'handshake made')
      // Deliveries that waited for the endpoint may be sent now.
      if (counted && error === null) app.bus.publish(CHANNELS.work, '')
    },
    release: (handshake) => releaseHandshake(app.db.query, handshake),
    idsOf: ({ endpointId }) => ({ endpointId }),
  })

/** Sends the challenge. Returns null if the endpoint has proved itself, else the reason. */
async function shakeHands(
  app: App,
  outbound: Outbound,
  handshake: Handshake,
  signal: AbortSignal,
): Promise<string | null> {
  const { endpointId, url, challenge } = handshake
  const secrets = openSecrets(app.settings, endpointId, handshake.secrets)
  if (handshake.secrets === null) return 'there is no signing secret: rotate it'
  const own = openHeaders(app.settings, endpointId, handshake.headers)
  if (secrets === null || own === null) return 'the signing secret cannot be opened'
  const at = new Date()
  const body = JSON.stringify({ type: 'verification', challenge, timestamp: at.toISOString() })
  const request = {
    prefix: app.settings.HEADER_PREFIX,
    event: 'verification',
    deliveryId: newId(),
    idempotencyKey: `verification:${endpointId}`,
  }
  const headers = withOwnHeaders(own, signedHeaders(request, secrets, at, body))
  return judgeAnswer(await outbound.post({ url, headers, body, timeoutMs: TIMEOUT_MS, signal }), challenge)
}

/**
 * Success is status 200 and a JSON object whose `challenge` is the one that was sent
 * (docs/reference/events.md).
 */
export function judgeAnswer(
  { statusCode, error, body }: Pick<OutboundAnswer, 'statusCode' | 'error' | 'body'>,
  challenge: string,
): string | null {
  if (error !== null) return error
  if (statusCode !== 200) return `status ${statusCode}, where 200 was expected`
  let answer: unknown
  try {
    answer = JSON.parse(body.toString('utf8'))
  } catch {
    return 'the answer is not JSON'
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return 'the answer is not a JSON object'
  if (!('challenge' in answer)) return 'the answer has no challenge'
  return answer.challenge === challenge ? null : 'the challenge in the answer is another one'
}
