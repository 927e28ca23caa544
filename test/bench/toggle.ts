import { newId } from '../../src/core/ids.ts'
import { isLockFailure } from '../../src/core/sql.ts'
import { openServer } from '../../src/data/server.ts'
import { writeReactions } from '../../src/domains/reactions/sql.ts'
import { signIdentity } from '../harness/identity.ts'
import { type Figures, measure, middle, print } from './api.ts'
import { fillDiscussions, type Filled } from './fill.ts'
import { httpRequest } from './load.ts'
import { median, startBenchService } from './service.ts'

const CONNECTIONS = 16
const SECONDS = 3
const ROUNDS = 5
const READERS = 200

/**
 * Toggles by many readers on many comments over REST, beside the statement with one reaction each
 * from as many connections, turn by turn.
 */
export async function benchToggle(): Promise<void> {
  const service = await startBenchService({ DATABASE_POOL_SIZE: String(CONNECTIONS) })
  try {
    const filled = await fillDiscussions(service.databaseUrl, { discussions: 500, comments: 40, readers: READERS })
    const tokens = await Promise.all(
      Array.from({ length: READERS }, (_, n) =>
        signIdentity(service.signer, { sub: filled.readers[n]?.externalId ?? '' }),
      ),
    )
    const requests = Array.from({ length: 5000 }, (_, n) =>
      httpRequest(
        'POST',
        `/api/v1/comments/${filled.commentIds[(n * 7919) % filled.commentIds.length]}/reactions`,
        {
          'X-API-Key': service.apiKey,
          'X-Service-Identity': tokens[n % READERS] ?? '',
          'Content-Type': 'application/json',
        },
        '{"type":"like"}',
      ),
    )
    const rates: { bare: number[]; rest: Figures[] } = { bare: [], rest: [] }
    for (let round = 0; round <= ROUNDS; round++) {
      const bare = await bareToggles(service.databaseUrl, filled)
      const rest = await measure({ process: service, requests })
      // The first round warms up.
      if (round > 0) {
        rates.bare.push(bare)
        rates.rest.push(rest)
      }
    }
    const reference = { perSecond: median(rates.bare), cpuMicros: NaN, p50: NaN, p99: NaN }
    print(
      'toggled reactions',
      { 'bare statement': reference, REST: middle(rates.rest) },
      { REST: ['bare statement', 1.2] },
    )
  } finally {
    await service.close()
  }
}

async function bareToggles(url: string, { tenantId, commentIds, readers }: Filled): Promise<number> {
  const { db, close } = await openServer({ url, size: CONNECTIONS, onError: () => undefined })
  let n = 0
  const until = performance.now() + SECONDS * 1000
  const started = performance.now()
  const loop = async (): Promise<void> => {
    while (performance.now() < until) {
      const turn = n++
      const { id: readerId = '', externalId = '' } = readers[turn % READERS] ?? {}
      const row = {
        tenantId,
        commentId: commentIds[(turn * 104_729) % commentIds.length] ?? '',
        readerId,
        mode: 'toggle',
        type: 'like',
        eventId: newId(),
        actor: JSON.stringify({ kind: 'reader', readerId, externalId }),
        reader: JSON.stringify({ id: readerId, externalId, name: null, avatarUrl: null, profileUrl: null }),
        trace: null,
      } as const
      await writeReactions(db.query, [row], new Date(), 'wait').catch((error: unknown) => {
        if (!isLockFailure(error)) throw error
      })
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, loop))
  const rate = n / ((performance.now() - started) / 1000)
  await close()
  return rate
}
