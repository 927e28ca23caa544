// The backend of the site: it keeps the key, and vouches for the reader who is signed in.
import { type Backend, createBackend } from 'engagement-service/backend'

/** The site's own user table. */
const readers = { ann: { id: 'ann', name: 'Ann Okafor' }, bob: { id: 'bob', name: 'Bob Lindqvist' } }

/** The reader of a request, by the site's own session. */
function readerOf(request: Request) {
  const id = /(?:^|; )reader=(ann|bob)\b/.exec(request.headers.get('cookie') ?? '')?.[1]
  return id === undefined ? null : readers[id as keyof typeof readers]
}

const setting = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`set ${name}`)
  return value
}

let made: Backend<Request> | undefined
/** Made with the first request: `nuxt build` knows no keys. */
export const engagement = (): Backend<Request> =>
  (made ??= createBackend<Request>({
    url: setting('ENGAGEMENT_URL'),
    apiKey: setting('ENGAGEMENT_API_KEY'),
    tenant: setting('ENGAGEMENT_TENANT'),
    identitySecret: setting('ENGAGEMENT_IDENTITY_SECRET'),
    reader: readerOf,
    isPage: (id) => articles.find((article) => article.id === id),
  }))
