import type { TenantSettings } from '../../core/tenant-settings.ts'
import { beginWork, type ReaderWork } from './erase-batches.ts'
import { scrubEvent } from './scrub.ts'
import { recallDeliveries } from './scrub-sql.ts'
import { touchErasure } from './sql.ts'

/** An erasure under way in this process. */
export interface Erasure extends ReaderWork {
  mode: TenantSettings['erasureMode']
}

const BATCH = 100
/** A few: others wait for their discussion as long as it takes. */
const MAX_ROWS = 20

interface Begun extends Pick<ReaderWork, 'app' | 'tenantId' | 'readerId' | 'signal'>, Pick<Erasure, 'mode'> {}

export function beginErasing({ app, tenantId, readerId, mode, signal }: Begun): Erasure {
  const work = beginWork({
    app,
    tenantId,
    readerId,
    signal,
    batch: BATCH,
    maxRows: MAX_ROWS,
    begin: () => Promise.resolve(),
    rewrite: (texts, isOnTheirComment) => scrubEvent(texts, { readerId, isOnTheirComment }),
    // Endpoints, which new deliveries refer to, are locked before deliveries.
    end: (sql, eventIds) => recallDeliveries(sql, tenantId, eventIds),
    touch: (now) => touchErasure(app.db.query, tenantId, readerId, now),
  })
  return { ...work, mode }
}
