import { roomOf } from '../../../core/cache.ts'
import { type App, perApp } from '../../../core/app.ts'
import { createReadCache, followCacheNews } from '../../../core/read-cache.ts'

const ANY = 'any'

/** Each tenant with a single sign-on has the secret of its client. */
const offered = perApp((app) => {
  const cache = createReadCache<boolean>({
    room: roomOf(app, 'other'),
    part: 0.01,
    read: async () => (await app.prisma.oidcSecret.findFirst({ select: { tenantId: true } })) !== null,
  })
  followCacheNews(app, { kind: 'tenant', forget: cache.clear, clear: cache.clear })
  return cache
})

/**
 * Whether some tenant has a single sign-on: a person who has not signed in has no tenant yet. True
 * where the database does not answer.
 */
export const offersSignOn = (app: App): Promise<boolean> =>
  offered(app)
    .get(ANY)
    .catch(() => true)
