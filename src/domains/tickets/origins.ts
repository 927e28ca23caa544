import { perApp, type App } from '../../core/context.ts'
import { createReadCache } from '../../core/read-cache.ts'
import { statement } from '../../core/sql.ts'

const FIND_ORIGIN = statement(
  'find_origin',
  `SELECT 1 FROM tenants WHERE settings->'allowedOrigins' @> to_jsonb(array[$1::text]) LIMIT 1`,
)

const origins = perApp((app) =>
  createReadCache<boolean>({
    max: 1000,
    read: async (origin) => (await app.db.query(FIND_ORIGIN, [origin])).length > 0,
  }),
)

/**
 * Whether any tenant allows the origin. A preflight has no credentials, so more cannot be checked.
 */
export const isOriginAllowed = (app: App, origin: string): Promise<boolean> => origins(app).get(origin)
