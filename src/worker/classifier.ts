import type { App } from '../core/app.ts'
import { signedHeaders } from '../core/delivery/request.ts'
import { newId } from '../core/ids.ts'
import { ofTenant } from '../core/queues/patience.ts'
import { openSecrets } from '../core/secrets/signing-secrets.ts'
import { type DueRequest, leaseRequests, releaseRequest } from '../domains/classifier/sql.ts'
import { applyVerdict, questionOf, type Verdict, verdictOf } from '../domains/classifier/verdicts.ts'
import { loadTenant } from '../domains/tenants/tenants.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { countByTenant, startTask, type Task } from './tasks.ts'

const MAX_IN_FLIGHT = 256
/** The most requests of one tenant, whose classifier may hang. */
const MAX_PER_TENANT = 32
const TIMEOUT_MS = 2000
// Longer than a request and its record take, so that no second worker asks meanwhile.
const LEASE_MS = 10_000

/**
 * Asks tenants' classifiers about new comments, and applies their verdicts, or the tenant's
 * fallback.
 */
export const startClassifier = (app: App, outbound: Outbound): Task =>
  startTask<DueRequest>(app, {
    name: 'classifier',
    maxInFlight: MAX_IN_FLIGHT,
    lease: (limit, inFlight) => {
      const busy = countByTenant(inFlight)
      return leaseRequests(app.db.query, { busy, perTenant: MAX_PER_TENANT, limit, leaseMs: LEASE_MS })
    },
    perform: (request, signal) => classify(app, outbound, request, signal),
    release: (request) => releaseRequest(app.db.query, request),
    idsOf: ({ id }) => ({ commentId: id }),
  })

async function classify(app: App, outbound: Outbound, request: DueRequest, signal: AbortSignal): Promise<void> {
  const { tenantId, id: commentId } = request
  const { classifier } = (await loadTenant(app, tenantId)).settings
  // If the tenant has switched the classifier off, moderators judge the remaining comments.
  const { url, fallback } = classifier ?? { url: null, fallback: 'hold' as const }
  const { verdict, error } = url === null ? unasked('switched off') : await ask(app, outbound, request, url, signal)
  if (signal.aborted) return
  if (error !== null) app.log.warn({ tenantId, commentId, error, fallback }, 'the classifier gave no verdict')
  await applyVerdict(ofTenant(app, tenantId), request, verdict ?? fallback)
}

interface ClassifierResult {
  verdict: Verdict | null
  /** Why there is no verdict. */
  error: string | null
}

const unasked = (error: string): ClassifierResult => ({ verdict: null, error })

/**
 * Asks, with a request signed like a delivery. There is no verdict after a redirect, a status other
 * than 2xx, or an answer that is late or malformed.
 */
async function ask(
  app: App,
  outbound: Outbound,
  request: DueRequest,
  url: string,
  signal: AbortSignal,
): Promise<ClassifierResult> {
  const secrets = openSecrets(app.settings, request.tenantId, request.secrets)
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
