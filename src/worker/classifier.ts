import type { App } from '../core/context.ts'
import { type Id, newId } from '../core/ids.ts'
import { type DueRequest, leaseRequests, releaseRequest } from '../domains/classifier/sql.ts'
import { applyVerdict, questionOf, type Verdict, verdictOf } from '../domains/classifier/verdicts.ts'
import { loadTenant } from '../domains/tenants/tenants.ts'
import { openSecrets, signedHeaders } from '../domains/webhooks/secrets.ts'
import { type Task, withinMs } from './deliveries.ts'
import { startLoop } from './loop.ts'
import type { Outbound } from './outbound.ts'

const MAX_IN_FLIGHT = 256
/** One tenant whose classifier hangs takes no more. */
const MAX_PER_TENANT = 32
const TIMEOUT_MS = 2000
// Longer than asking and writing down take, so that no second worker asks meanwhile.
const LEASE_MS = 10_000

/** Asks the tenants' classifiers about new comments, and does what they say, or the tenant's fallback. */
export function startClassifier(app: App, outbound: Outbound): Task {
  const inFlight = new Map<DueRequest, { giveUp: AbortController; over: Promise<void> }>()
  let stopping = false
  const pollMs = app.settings.WEBHOOK_POLL_SECONDS * 1000
  const loop = startLoop({ name: 'classifier', pollMs, log: app.log, work })

  async function work(): Promise<void> {
    const limit = MAX_IN_FLIGHT - inFlight.size
    if (limit <= 0) return
    const options = { busy: countByTenant(inFlight.keys()), perTenant: MAX_PER_TENANT, limit, leaseMs: LEASE_MS }
    const due = await leaseRequests(app.db.query, options)
    if (stopping) return void (await Promise.all(due.map((request) => releaseRequest(app.db.query, request))))
    for (const request of due) start(request)
  }

  function start(request: DueRequest): void {
    const giveUp = new AbortController()
    const over = perform(request, giveUp.signal)
      .catch((err: unknown) => app.log.warn({ err, commentId: request.id }, 'a comment could not be classified'))
      .finally(() => {
        inFlight.delete(request)
        // Others may wait for the slot; where none do, one look costs little.
        loop.wake()
      })
    inFlight.set(request, { giveUp, over })
  }

  async function perform(request: DueRequest, signal: AbortSignal): Promise<void> {
    const { tenantId, id: commentId } = request
    const { classifier } = (await loadTenant(app, tenantId)).settings
    // Whoever has switched it off meanwhile has moderators look at what was not asked yet.
    const { url, fallback } = classifier ?? { url: null, fallback: 'hold' as const }
    const { verdict, error } = url === null ? unasked('switched off') : await ask(app, outbound, request, url, signal)
    if (signal.aborted) return
    if (error !== null) app.log.warn({ tenantId, commentId, error, fallback }, 'no verdict of the classifier')
    await applyVerdict(app, request, verdict ?? fallback)
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true
    await withinMs(
      graceMs,
      loop.stop().then(() => Promise.all([...inFlight.values()].map(({ over }) => over))),
    )
    const rest = [...inFlight]
    for (const [, { giveUp }] of rest) giveUp.abort(new Error('stopping'))
    await withinMs(1000, Promise.all(rest.map(([request]) => releaseRequest(app.db.query, request))))
  }

  return { wake: loop.wake, stop }
}

interface Asked {
  verdict: Verdict | null
  /** Why there is no verdict. */
  error: string | null
}

const unasked = (error: string): Asked => ({ verdict: null, error })

/** Asks, signed like a delivery. A redirect, a status other than 2xx, a late or a senseless answer is none. */
async function ask(
  app: App,
  outbound: Outbound,
  request: DueRequest,
  url: string,
  signal: AbortSignal,
): Promise<Asked> {
  const secrets = openSecrets(app.settings.ENCRYPTION_KEY, request.tenantId, request.secrets)
  if (secrets === null) return unasked('there is no secret to sign with, or it cannot be opened')
  const event = 'comment_classify'
  const idempotencyKey = `${event}:${request.id}:${request.revision}`
  const body = questionOf(request)
  const signed = { prefix: app.settings.HEADER_PREFIX, event, deliveryId: newId(), idempotencyKey }
  const headers = signedHeaders(signed, secrets, new Date(), body)
  const answer = await outbound.post({ url, headers, body, timeoutMs: TIMEOUT_MS, signal })
  if (answer.error !== null) return unasked(answer.error)
  if (answer.statusCode === null || answer.statusCode < 200 || answer.statusCode >= 300) {
    return unasked(`status ${answer.statusCode}`)
  }
  const verdict = verdictOf(answer.body.toString('utf8'))
  return { verdict, error: verdict === null ? 'the answer has no verdict' : null }
}

function countByTenant(requests: Iterable<DueRequest>): Map<Id, number> {
  const counts = new Map<Id, number>()
  for (const { tenantId } of requests) counts.set(tenantId, (counts.get(tenantId) ?? 0) + 1)
  return counts
}
