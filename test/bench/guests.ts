import { type Beside, printTurns } from './figures.ts'
import { httpRequest } from './load.ts'
import { compare, type Side } from './measure.ts'
import { closing, startBareRefusal } from './scripts.ts'
import { ask, type BenchService, call, startBenchService } from './service.ts'
import { sized } from './size.ts'

const HOW = { connections: 4, seconds: 0.4, rounds: sized(9, 1), warm: sized(2, 1), mayFail: true }
const ORIGIN = 'https://www.example.com'
const BARE = 'bare Node that answers 403'
const REFUSED: Beside = [BARE, 'at most 5 % of a core']

/**
 * CPU of the api process for wrong proofs of work, which anybody can send, beside bare Node that
 * refuses all requests.
 */
export const benchGuests = (): Promise<void> =>
  closing(async (opened) => {
    const process = opened(await startBenchService())
    const bare = opened(await startBareRefusal())
    const path = await openSite(process)
    const headers = { 'content-type': 'application/json', origin: ORIGIN, 'x-requested-with': 'engagement' }
    const post = (proof: string): Buffer[] => [
      httpRequest(
        'POST',
        `${path}/guests`,
        headers,
        JSON.stringify({ name: 'Gia', email: 'gia@example.com', pageUrl: `${ORIGIN}/article`, proof }),
      ),
    ]
    const challenge = await (
      await fetch(`http://127.0.0.1:${process.port}${path}/challenge`, { headers: { origin: ORIGIN } })
    ).json()
    // It comes furthest: the challenge is one of the service.
    const wrong = Buffer.from(JSON.stringify({ challenge, solution: { counter: 1, derivedKey: '0'.repeat(64) } }))
    const sides = {
      [BARE]: { process: bare, requests: post('x') },
      'a proof of another form': { process, requests: post('x'.repeat(64)) },
      'a wrong solution of a challenge': { process, requests: post(wrong.toString('base64')) },
      'a challenge': { process, requests: [httpRequest('GET', `${path}/challenge`, { origin: ORIGIN })] },
    } satisfies Record<string, Side>
    const rounds = await compare(sides, HOW)
    printTurns(
      'guests: requests that anybody can send, 100 of each a second',
      // Microseconds for each of 100 a second, in hundredths of a core.
      Object.fromEntries(
        Object.entries(rounds).map(([name, all]) => [
          name,
          all.map((each) => ({ ...each, share: each.cpuMicros / 100 })),
        ]),
      ),
      { 'a proof of another form': REFUSED, 'a wrong solution of a challenge': REFUSED },
    )
  })

/** A site that takes guests. Returns the path of its routes. */
async function openSite(service: BenchService): Promise<string> {
  await ask(service, 'PATCH', '/settings', { guests: { mailUrl: 'https://mailer.example.com/guests' } })
  const { publicKey } = await call(service, 'POST', '/sites', { name: 'Blog', origins: [ORIGIN], guests: 'email' })
  return `/engagement/${publicKey}`
}
