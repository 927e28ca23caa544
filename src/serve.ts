import cluster from 'node:cluster'
import { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Logger } from 'pino'

import { openApp } from './app.ts'
import { baseUrl, listensOn, portOf } from './core/address.ts'
import type { App } from './core/app.ts'
import { counter, metricsOf } from './core/telemetry/metrics.ts'
import { hasGraphiQL, type Settings, SettingsError } from './core/settings/settings.ts'
import { quietTurn } from './core/process/event-loop.ts'
import { StopClock } from './core/process/stop-clock.ts'
import type { UncaughtHandlers } from './core/process/uncaught.ts'
import { cannotOpen } from './data/open.ts'
import { openTracing } from './data/tracing.ts'
import { findMissingKeys, missingKeysText } from './domains/encryption-keys/reseal.ts'
import { bootstrap, type FirstCredentials, findTenants } from './domains/bootstrap/bootstrap.ts'
import { hubOf } from './live/hub.ts'
import { watchConnections } from './api/http/sockets/connections.ts'
import { createHealthServer } from './api/http/health.ts'
import { createServer } from './api/http/server.ts'
import { type Link, openLink } from './processes/link.ts'
import type { Hello } from './processes/protocol.ts'
import { startWorker } from './worker/worker.ts'

/** A role of this process: `api` or `worker`. */
interface Role {
  /** Ends within the phases of `clock`. While it drains, it serves clients that do not know yet. */
  stop(clock: StopClock): Promise<void>
}

/** How long a signal waits for a start to finish, so that the stop finds complete roles. */
const START_MS = 2000

/** Starts the roles of this process. Resolves once they serve. */
export async function serve(settings: Settings, log: Logger, uncaught: UncaughtHandlers): Promise<void> {
  // Whether a parent has started this process as one of several.
  const link = cluster.isWorker ? openLink() : undefined
  // The first start creates the embedded database, which takes seconds.
  if (process.stderr.isTTY) console.error('Opening the database …')
  const tracing = await openTracing(process.env, log)
  const { app, database, close } = await openApp(settings, log, { link, tracing }).catch((error: unknown) => {
    throw cannotOpen(settings.DATABASE_URL === undefined ? 'DATA_DIR' : 'DATABASE_URL', error)
  })
  const unhandled = counter(metricsOf(app), 'unhandled_errors_total')
  uncaught.count = (kind) => unhandled.inc({ kind })
  await warnOfMissingKeys(app)
  const roles: Role[] = []
  let stopping: Promise<void> | undefined
  const clockOf = (drainSeconds = 0) => new StopClock({ graceSeconds: settings.SHUTDOWN_GRACE_SECONDS, drainSeconds })
  const stop = (clock = clockOf()): Promise<void> =>
    (stopping ??= (async () => {
      await Promise.allSettled(roles.map((role) => role.stop(clock)))
      await close()
    })())
  let isSignalled = false
  let hasStarted = false
  let endStart = (): void => undefined
  const started = new Promise<void>((resolve) => (endStart = resolve))
  const stopFor = (cause: NodeJS.Signals | 'exception'): void => {
    // npm forwards the terminal's signal, which arrives twice.
    if (isSignalled) return
    isSignalled = true
    const { SHUTDOWN_GRACE_SECONDS: grace, DRAIN_SECONDS } = settings
    // SIGINT comes from a terminal, where there is no load balancer. Starting processes and workers
    // are not balanced either.
    const isBalanced = cause !== 'SIGINT' && hasStarted && settings.ROLE !== 'worker'
    const clock = clockOf(isBalanced ? DRAIN_SECONDS : 0)
    const late = sleep(Math.min(START_MS, grace * 250), undefined, { ref: false })
    const stopped = Promise.race([started, late]).then(() => stop(clock))
    const status = cause === 'exception' ? 1 : 0
    void stopInTime(stopped, { grace, drain: clock.drainMs / 1000, status }, log.child({ signal: cause }))
  }
  // Before this, a signal ends the process at once: there is nothing to stop.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopFor(signal))
  try {
    if (settings.ROLE !== 'api') {
      const worker = await startWorker(app)
      roles.push({ stop: (clock) => worker.stop(clock.leftMs('work')) })
    }
    const api = settings.ROLE === 'worker' ? null : await startApi(app, link)
    if (api !== null) roles.push(api)
    for (const listener of await startListeners(app)) roles.push(listener)
    // Credentials are shown once, so nothing that can fail comes between their creation and this;
    // a worker creates none.
    const hello = api === null ? READY : announcement(app, api.where, await database.exclusively(() => bootstrap(app)))
    hasStarted = true
    uncaught.stop = () => stopFor('exception')
    if (isSignalled && !hello.hasCredentials) return
    if (link !== undefined) return link.ready(hello)
    console.log(hello.text)
    // The parent waits for this message.
    process.send?.({ ready: true })
  } catch (error) {
    await stop()
    // After a signal, the stop has closed what the start needed.
    if (!isSignalled) throw error
  } finally {
    endStart()
  }
}

/**
 * Ends the process with `status` once it has stopped, or with 1 after the grace period, of which
 * `drain` is a part; both in seconds.
 */
async function stopInTime(
  stopped: Promise<void>,
  { grace, drain, status }: Record<'grace' | 'drain' | 'status', number>,
  log: Logger,
): Promise<void> {
  const startedAt = performance.now()
  const more = drain === 0 ? '' : `; it takes requests for ${drain} s more (DRAIN_SECONDS)`
  // A person at a terminal reads words, as at the start.
  const isTerminal = process.stderr.isTTY && !cluster.isWorker
  if (isTerminal) console.error(`Stopping, within ${grace} s${more} …`)
  else log.info(`stopping, within ${grace} s${more}`)
  // For a part that hangs: each has less than the whole grace period.
  setTimeout(() => {
    log.error('the grace period is over, but not everything has stopped')
    process.exit(1)
  }, grace * 1000).unref()
  await stopped
  if (isTerminal) console.error('Stopped.')
  else log.info({ ms: Math.round(performance.now() - startedAt) }, 'stopped')
  // A thread writes the lines; an exit writes the rest itself, which may be out of order.
  log.flush(() => process.exit(status))
}

/**
 * Warns about missing keys: without a key that has sealed something the process runs, but refuses
 * readers and fails deliveries one by one.
 */
async function warnOfMissingKeys({ db, settings, log }: App): Promise<void> {
  const missing = await findMissingKeys(db.query, settings)
  if (missing.length > 0) log.warn(missingKeysText(missing))
}

async function startApi(app: App, link: Link | undefined): Promise<Role & { where: string }> {
  const { BASE_URL, HOST, PORT } = app.settings
  const server = await createServer(app)
  const connections = watchConnections(server.server)
  await findTenants(app)
  const refused = explainListen(app.settings, 'PORT', PORT)
  if (link === undefined) await server.listen({ host: HOST, port: PORT }).catch(refused)
  else {
    await server.ready()
    const listening = await link.listen(server.server, HOST, PORT)
    if ('code' in listening) refused(listening)
    else listensOn(app, listening.port)
  }
  return {
    where: BASE_URL === undefined ? '' : ` (it listens on ${HOST}:${portOf(app)})`,
    stop: async (clock) => {
      app.health.stop()
      connections.retire()
      await sleep(clock.leftMs('drain'))
      if (link === undefined) {
        await quietTurn()
        // Only the listener: HTTP's own close does more, and takes longer than that turn.
        Server.prototype.close.call(server.server)
      } else await link.leave()
      // New connections are refused first; then streams end, spread over their time.
      const closed = server.close()
      await Promise.all([
        hubOf(app).close({ graceMs: clock.leftMs('streams') }),
        connections.drain(closed, { idleMs: clock.drainMs, withinMs: clock.leftMs('work') }),
      ])
    },
  }
}

/** Further listeners: METRICS_PORT for any process, WORKER_PORT for one that is no api. */
async function startListeners(app: App): Promise<Role[]> {
  const { ROLE, HOST, METRICS_PORT, WORKER_PORT } = app.settings
  const listen = async (name: string, port: number, hasMetrics: boolean): Promise<Role> => {
    const server = createHealthServer(app, { hasMetrics })
    await server.listen({ host: HOST, port }).catch(explainListen(app.settings, name, port))
    return { stop: () => server.close() }
  }
  const roles: Role[] = []
  if (METRICS_PORT !== undefined) roles.push(await listen('METRICS_PORT', METRICS_PORT, true))
  if (WORKER_PORT !== undefined && ROLE === 'worker') {
    roles.push(await listen('WORKER_PORT', WORKER_PORT, METRICS_PORT === undefined))
  }
  return roles
}

const READY: Hello = { text: 'The worker is ready.', hasCredentials: false }

/** A word for a shell: an operator's own password may have any characters. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The information for a person who starts the service, on standard output. */
function announcement(app: App, where: string, credentials: FirstCredentials | null): Hello {
  const url = baseUrl(app)
  const text = `The Engagement Service is ready at ${url}${where}

  Console    ${url}/console/
  Guides     ${url}/docs/guides/
  REST API   ${url}/docs/reference/rest/
${hasGraphiQL(app.settings) ? `  GraphQL    ${url}/graphql\n` : ''}`
  if (credentials === null) return { text, hasCredentials: false }
  const { tenant, apiKey, identitySecret, admin } = credentials
  return {
    hasCredentials: true,
    text: `${text}
This is the first start. It made the tenant "${tenant.slug}". These are shown only now:

  API key          ${apiKey}
  Identity secret  ${identitySecret.secret}
  Its kid          ${identitySecret.kid}
  Admin            ${admin.email}, who signs in to the console
  Password         ${admin.password}

Try it:

  curl -sw '\\n' ${url}/api/v1/discussions -H 'X-API-Key: ${apiKey}' \\
    -H 'Content-Type: application/json' -d '{"externalId":"article-1","title":"Hello"}'

For the guides, paste this into a second terminal:

  export BASE=${url} API_KEY=${apiKey} IDENTITY_SECRET=${quoted(identitySecret.secret)} ADMIN_PASSWORD=${quoted(admin.password ?? '…')}
`,
  }
}

const explainListen =
  ({ HOST }: Settings, name: string, port: number) =>
  ({ code, message }: Pick<NodeJS.ErrnoException, 'code' | 'message'>): never => {
    if (code === 'EADDRINUSE') throw new SettingsError(`${name}: ${port} is already in use: set another one`)
    if (code === 'EACCES') throw new SettingsError(`${name}: ${port} needs more rights than this process has`)
    throw new SettingsError(`HOST: cannot listen on ${HOST}: ${message}`)
  }
