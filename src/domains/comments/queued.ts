import { CHANNELS } from '../../core/bus.ts'
import type { App } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import type { LockedComment } from './locked.ts'

/** Whether a comment is in a queue of the moderators. */
export const isQueued = ({ status, flagged, reportCount, reportsAnswered }: LockedComment): boolean =>
  status === 'pending' || status === 'rejected' || (status === 'approved' && (flagged || reportCount > reportsAnswered))

/**
 * Tells those who follow the tenant's queues that these may have changed. Only ever after the
 * commit.
 */
export const tellModerators = (app: App, tenantId: Id): void => app.bus.publish(CHANNELS.queues(tenantId), '')
