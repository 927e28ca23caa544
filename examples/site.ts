// What the examples have in common: a newspaper's site with one article. Vite serves the page, and
// `publisher` is the page's own backend.
import { join } from 'node:path'

import type { Connect, Plugin, UserConfig } from 'vite'

import { createBackend } from '../src/clients/backend/backend.ts'

/** The site's own user table. */
const READERS = { ann: { id: 'ann', name: 'Ann Okafor' }, bob: { id: 'bob', name: 'Bob Lindqvist' } }

/** `POST /token` gives the page a token for the reader of its cookie, which `/sign-in?as=` sets. */
function publisher(): Plugin {
  const {
    ENGAGEMENT_URL: url = '',
    ENGAGEMENT_API_KEY: apiKey = '',
    ENGAGEMENT_TENANT: tenant = 'demo',
    ENGAGEMENT_IDENTITY_SECRET: identitySecret = '',
  } = process.env
  const serve = ({ middlewares }: { middlewares: Connect.Server }): void => {
    const backend = createBackend<Connect.IncomingMessage>({
      url,
      apiKey,
      tenant,
      identitySecret,
      reader: ({ headers }) => READERS[/reader=(ann|bob)/.exec(headers.cookie ?? '')?.[1] as 'ann' | 'bob'],
    })
    middlewares.use('/token', (request, response, next) => {
      if (request.method !== 'POST') return next()
      const token = backend.clientToken(request, { externalIds: ['night-trains'] })
      token.then((given) => response.end(JSON.stringify(given)), next)
    })
    middlewares.use('/sign-in', (request, response) => {
      const reader = new URL(request.url ?? '', url).searchParams.get('as')
      response.setHeader('set-cookie', `reader=${encodeURIComponent(reader ?? '')}; Path=/; HttpOnly; SameSite=Lax`)
      response.writeHead(303, { location: '/' }).end()
    })
  }
  return { name: 'publisher', configureServer: serve, configurePreviewServer: serve }
}

const CLIENTS = join(import.meta.dirname, '../dist/clients/graphql')

/** Vite's configuration of the example in the folder `root`. */
export const site = (root: string, ...plugins: UserConfig['plugins'] & object): UserConfig => ({
  root,
  plugins: [...plugins, publisher()],
  envPrefix: 'ENGAGEMENT_URL',
  // A site of its own installs the client package instead.
  resolve: {
    alias: [
      { find: /^engagement-service\/graphql$/, replacement: join(CLIENTS, 'client.js') },
      { find: /^engagement-service\/graphql\/(.*)$/, replacement: join(CLIENTS, '$1.js') },
    ],
    dedupe: ['graphql', '@apollo/client', 'react', 'react-dom', 'relay-runtime', '@urql/core', 'vue', 'wonka'],
  },
  server: { host: '127.0.0.1' },
  preview: { host: '127.0.0.1' },
})
