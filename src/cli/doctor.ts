import { randomUUID, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

import { misspellings, readSettings, type Settings, SettingsError } from '../core/settings/settings.ts'
import { counted } from '../core/input/texts.ts'
import { keptSecrets } from '../data/embedded/secrets.ts'
import { createRedisBus } from '../data/bus/redis.ts'
import { redisVersion } from '../data/redis/client.ts'
import { dataDirFinding, databaseFindings, hostFindings } from './doctor-database.ts'
import { fail, type Finding, ok, reasonOf, warn } from './finding.ts'

/** Sharded pub/sub needs Redis 7; scripts that read the clock and write need Redis 5. */
const MIN_REDIS = { single: 5, cluster: 7 }
const ROUND_TRIP_MS = 2000
const EXPIRY_WARNING_DAYS = 30

/** Checks everything that the service needs with these settings, and changes nothing. */
export async function examine(env: Readonly<Record<string, string | undefined>>): Promise<Finding[]> {
  let settings: Settings
  let hasSecrets = true
  try {
    settings = readSettings(env, (dataDir) => {
      const kept = keptSecrets(dataDir)
      hasSecrets = kept !== null
      return kept ?? { ADMIN_JWT_SECRET: '', ENCRYPTION_KEY: Buffer.alloc(32), ENCRYPTION_KEYS: [] }
    })
  } catch (error) {
    if (error instanceof SettingsError)
      return error.message.split('\n').map((line) => fail('settings', `${line}: set it right, then ask again`))
    throw error
  }
  return [
    ok('settings', `understood; the role is ${settings.ROLE}`),
    ...misspellings(env).map((text) => warn('settings', text)),
    ...(settings.DATABASE_URL === undefined ? [dataDirFinding(settings.DATA_DIR)] : []),
    ...(await hostFindings(settings)),
    ...(await databaseFindings(settings, hasSecrets)),
    ...(await redisFindings(settings)),
    ...tlsFindings(settings),
    metricsFinding(settings),
  ]
}

async function redisFindings({
  REDIS_URL: urls,
  REDIS_PREFIX: prefix,
  DATABASE_URL,
  WORKERS,
}: Settings): Promise<Finding[]> {
  if (urls === undefined) {
    if (DATABASE_URL === undefined) return [ok('redis', 'not used, and not needed for one process')]
    const text = 'REDIS_URL is not set: streams are up to 5 s late and limits count apart between'
    return [warn('redis', `${text} ${WORKERS > 1 ? 'machines' : 'processes'}; one alone needs none`)]
  }
  const bus = createRedisBus({ urls, prefix, onDown: () => undefined, onUp: () => undefined })
  try {
    const version = await redisVersion(urls, ROUND_TRIP_MS)
    const least = urls.length > 1 ? MIN_REDIS.cluster : MIN_REDIS.single
    if (Number.parseInt(version, 10) < least)
      return [fail('redis', `is Redis ${version}: upgrade it to ${least} or newer`)]
    const channel = `doctor:${randomUUID()}`
    const isHeard = await new Promise<boolean>((resolve) => {
      const settle = (isReceived: boolean): void => {
        clearInterval(again)
        clearTimeout(late)
        resolve(isReceived)
      }
      // Messages before both connections are ready are lost, so it repeats them.
      const again = setInterval(() => bus.publish(channel, 'hello'), 50)
      const late = setTimeout(settle, ROUND_TRIP_MS, false)
      void bus.subscribe(channel, () => settle(true))
    })
    if (!isHeard) return [fail('redis', 'takes messages and delivers none: allow its user pub/sub on all channels')]
    return [ok('redis', `Redis ${version} answers, and delivers messages`)]
  } catch (error) {
    return [
      fail('redis', `REDIS_URL: does not answer (${reasonOf(error)}): is it there, and are these its credentials?`),
    ]
  } finally {
    await bus.close()
  }
}

function tlsFindings({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }: Settings): Finding[] {
  if (certFile === undefined || keyFile === undefined) return [ok('tls', 'not used: a proxy in front does it, if any')]
  try {
    const cert = readFileSync(certFile)
    createSecureContext({ cert, key: readFileSync(keyFile) })
    const days = Math.floor((Date.parse(new X509Certificate(cert).validTo) - Date.now()) / 86_400_000)
    if (days < 0) return [fail('tls', `TLS_CERT_FILE: the certificate has expired: renew it, then restart`)]
    if (days < EXPIRY_WARNING_DAYS)
      return [warn('tls', `the certificate expires in ${counted(days, 'day')}: renew it, then restart`)]
    return [ok('tls', `the certificate is good for ${counted(days, 'day')}`)]
  } catch (error) {
    return [fail('tls', `TLS_CERT_FILE and TLS_KEY_FILE are no certificate and its key (${reasonOf(error)})`)]
  }
}

function metricsFinding({ METRICS_PORT, METRICS_TOKEN }: Settings): Finding {
  const token = METRICS_TOKEN === undefined ? '' : ', with METRICS_TOKEN'
  if (METRICS_PORT !== undefined) return ok('metrics', `at port ${METRICS_PORT}${token}`)
  if (METRICS_TOKEN !== undefined) return ok('metrics', `at /metrics of each listener${token}`)
  return ok('metrics', 'off: METRICS_PORT or METRICS_TOKEN lets Prometheus read them')
}
