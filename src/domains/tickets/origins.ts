import { perApp, type App } from '../../core/app.ts'
import { roomOf } from '../../core/cache.ts'
import { createReadCache } from '../../core/read-cache.ts'
import type { TenantSettings } from '../../core/settings/tenant.ts'
import { statement } from '../../core/database/statements.ts'

/**
 * How `allowedOrigins` may name an origin: itself, or with `*` for the first label of its host if
 * two more follow.
 */
const namesOf = (origin: string): string[] => [origin, origin.replace(/^([a-z]+:\/\/)[^.:/]+\.(?=[^.:/]+\.)/, '$1*.')]

/** Whether a tenant allows the origin. */
export const isOriginOf = ({ allowedOrigins }: Pick<TenantSettings, 'allowedOrigins'>, origin: string): boolean =>
  namesOf(origin).some((name) => allowedOrigins.includes(name))

const FIND_ORIGIN = statement(
  'find_origin',
  `SELECT 1 FROM tenants WHERE settings->'allowedOrigins' ?| $1::text[]
   UNION ALL SELECT 1 FROM sites WHERE origins && $1::text[] LIMIT 1`,
)

const origins = perApp((app) =>
  createReadCache<boolean>({
    room: roomOf(app, 'other'),
    part: 0.25,
    read: async (origin) => (await app.db.query(FIND_ORIGIN, [namesOf(origin)])).length > 0,
  }),
)

/**
 * Whether any tenant or site allows the origin. A preflight has no credentials, so more cannot be
 * checked.
 */
export const isOriginAllowed = (app: App, origin: string): Promise<boolean> => origins(app).get(origin)

/** What is known of that without asking the database; undefined for nothing. */
export const recallOrigin = (app: App, origin: string): boolean | undefined => origins(app).peek(origin)

/** Whether `isOriginAllowed` would query the database for the first time. */
export const isNewOrigin = (app: App, origin: string): boolean => origins(app).isNew(origin)
