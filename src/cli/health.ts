// `node dist/cli/health.js [/readyz]` asks the service on this machine, by the settings of the
// environment, whether it runs, or with `/readyz` whether it can serve: exit status 0 or 1. For
// the health checks of containers, whose images have no curl.
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

import { environmentSchema } from '../core/settings/process.ts'

const TIMEOUT_MS = 4000
const ANY_ADDRESS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

const { ROLE, HOST, PORT, WORKER_PORT, METRICS_PORT, TLS_CERT_FILE } = environmentSchema
  .pick({ ROLE: true, HOST: true, PORT: true, WORKER_PORT: true, METRICS_PORT: true, TLS_CERT_FILE: true })
  .parse(Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== '')))

const isWorker = ROLE === 'worker'
const port = isWorker ? (WORKER_PORT ?? METRICS_PORT) : PORT
if (port === undefined) {
  console.error('a worker answers health checks where WORKER_PORT or METRICS_PORT is set')
  process.exit(1)
}

// The certificate is for the clients' address, not this one.
const options = {
  host: ANY_ADDRESS[HOST] ?? HOST,
  port,
  path: process.argv[2] ?? '/healthz',
  timeout: TIMEOUT_MS,
  rejectUnauthorized: false,
}
const send = !isWorker && TLS_CERT_FILE !== undefined ? requestHttps : requestHttp

function fail(error: Error): void {
  console.error(error.message)
  process.exit(1)
}

const request = send(options, (response) => {
  let text = ''
  response.setEncoding('utf8').on('data', (part: string) => (text += part))
  response.on('end', () => {
    // Docker shows the output of a check.
    console.log(`${response.statusCode} ${text}`)
    process.exit(response.statusCode === 200 ? 0 : 1)
  })
  // An answer that breaks off has no end. The process would end with status 0.
  response.on('error', fail)
})
request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
request.on('error', fail)
request.end()
