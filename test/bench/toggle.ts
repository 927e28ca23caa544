import { newId } from '../../src/core/ids.ts'
import type { Db } from '../../src/core/database/database.ts'
import { isLockFailure } from '../../src/core/database/locks.ts'
import { writeReactions } from '../../src/domains/reactions/sql.ts'
import { fillDiscussions, type Filled } from './fill.ts'
import { type Figures, inTurns, printTurns, run } from './figures.ts'
import { measure, rateOf } from './measure.ts'
import { postRequests } from './requests.ts'
import { closing } from './scripts.ts'
import { openDatabase, startBenchService } from './service.ts'
import { sized } from './size.ts'

const HOW = { connections: 16, seconds: sized(3, 0.1) }

/**
 * Toggles by many readers on many comments over REST, beside the statement with one reaction each
 * from as many connections, turn by turn.
 */
export const benchToggle = (): Promise<void> =>
  closing(async (opened) => {
    const service = opened(await startBenchService({ DATABASE_POOL_SIZE: String(HOW.connections) }))
    const { db } = opened(await openDatabase(service, HOW.connections))
    const size = { discussions: sized(500, 10), comments: 40, readers: sized(200, 10) }
    const filled = await fillDiscussions(service, size)
    const requests = await postRequests(service, {
      paths: filled.commentIds.map((id) => `/api/v1/comments/${id}/reactions`),
      count: sized(5000, 500),
      subs: filled.readers.map(({ externalId }) => externalId),
      body: () => ({ type: 'like' }),
    })
    const toggle = togglesOf(db, filled)
    const sides: Record<string, () => Promise<Figures>> = {
      'bare statement': async () => ({ perSecond: await rateOf(toggle, HOW) }),
      REST: () => measure({ process: service, requests }, HOW),
    }
    const rounds = await inTurns(sides, run, { rounds: 5 })
    printTurns(`toggle: reactions, ${HOW.connections} connections`, rounds, {
      REST: ['bare statement', 'rate at least 1.2'],
    })
  })

/** Each call toggles a reaction. */
function togglesOf(db: Db, { tenantId, commentIds, readers }: Filled): () => Promise<void> {
  let n = 0
  return async () => {
    const turn = n++
    const { id: readerId = '', externalId = '' } = readers[turn % readers.length] ?? {}
    const row = {
      tenantId,
      commentId: commentIds[(turn * 104_729) % commentIds.length] ?? '',
      readerId,
      mode: 'toggle',
      type: 'like',
      eventId: newId(),
      actor: JSON.stringify({ kind: 'reader', readerId, externalId }),
      reader: JSON.stringify({ id: readerId, externalId, name: null, avatarUrl: null, profileUrl: null, badges: [] }),
      trace: null,
    } as const
    await writeReactions(db.query, [row], new Date(), 'wait').catch((error: unknown) => {
      if (!isLockFailure(error)) throw error
    })
  }
}
