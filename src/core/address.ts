import { type App, perApp } from './app.ts'

const listening = perApp(({ settings }) => ({ port: settings.PORT }))

/** Notes the port that the server listens on: with `PORT=0` the system chooses it. */
export function listensOn(app: App, port: number): void {
  listening(app).port = port
}

/** The port that the server listens on. */
export const portOf = (app: App): number => listening(app).port

/** Where clients reach this process: BASE_URL, or the address it listens on. */
export function baseUrl(app: App): string {
  const { BASE_URL, TLS_CERT_FILE, HOST } = app.settings
  if (BASE_URL !== undefined) return BASE_URL.replace(/\/$/, '')
  const scheme = TLS_CERT_FILE === undefined ? 'http' : 'https'
  return `${scheme}://${HOST.includes(':') ? `[${HOST}]` : HOST}:${portOf(app)}`
}
