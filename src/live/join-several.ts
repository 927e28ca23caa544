import { ServiceError } from '../core/errors.ts'
import type { Beginning, Hub, JoinRequest } from './hub.ts'
import type { BeginningOfSeveral, ConnectionOfSeveral, Part } from './connection-of-several.ts'
import type { Cursors } from './streams/cursor.ts'

/** How many discussions are joined at once: each may read from the database. */
const AT_ONCE = 10

interface JoinSeveral extends Pick<JoinRequest, 'viewer' | 'window'> {
  cursors: Cursors
  /** Resume after this cursor, as the client sent it; null starts with the next events. */
  lastEventId: string | null
}

/**
 * Takes a seat for the stream at each of its discussions, and finds where it begins. A discussion
 * that was deleted is gone, and the others go on. Throws `not_found` where all are.
 */
export async function joinSeveral(
  hub: Hub,
  stream: ConnectionOfSeveral,
  { cursors, lastEventId, viewer, window }: JoinSeveral,
): Promise<BeginningOfSeveral> {
  const asked = lastEventId === null ? null : cursors.decode(lastEventId)
  const begun: (Beginning & Pick<Part, 'discussionId'>)[] = []
  const join = async (part: Part, n: number): Promise<void> => {
    const { discussionId } = part
    // An unknown position is told from none.
    const position = lastEventId === null ? null : String(asked?.[n] ?? '')
    if (part.isGone) return part.stayAway(Number(position))
    const request = { tenantId: stream.tenantId, discussionId, viewer, window, lastEventId: position, stream: part }
    try {
      const beginning = await hub.join(request)
      part.sit(beginning.seat)
      if (!part.isGone) begun.push({ ...beginning, discussionId })
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
      part.stayAway(Number(position))
    }
  }
  for (let n = 0; n < stream.parts.length && !stream.isOver; n += AT_ONCE) {
    const some = stream.parts.slice(n, n + AT_ONCE)
    // All have settled before an error ends the stream, which then leaves every seat.
    const settled = await Promise.allSettled(some.map((part, index) => join(part, n + index)))
    const failure = settled.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    if (failure !== undefined) throw failure.reason
  }
  if (stream.parts.every(({ isGone }) => isGone)) throw new ServiceError('not_found')
  return {
    replayed: begun.reduce((sum, { replayed }) => sum + replayed, 0),
    incomplete: begun.filter(({ complete }) => !complete).map(({ discussionId }) => discussionId),
  }
}
