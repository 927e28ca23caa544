import { expect, test, vi } from 'vitest'

import { onServer } from '../harness/database.ts'
import { first, last, type ServiceProcess } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'
import type { TestResponse } from '../harness/service.ts'

const KILLS = 4
const POSTERS = 8

// Redis is down: only the database remembers outcomes.
const service = useProcesses({ api: 2, worker: 1, env: { REDIS_URL: 'redis://127.0.0.1:1' } })

const post = async (api: ServiceProcess, page: string, key: string): Promise<TestResponse> =>
  service.call('POST', `/discussions/by-external/${page}/comments`, {
    api,
    body: { body: key },
    headers: { 'idempotency-key': key, ...(await service.as('reader')) },
  })

/** Sends a request again until it is answered, as a publisher's backend does. */
async function postUntilDone(page: string, key: string): Promise<TestResponse> {
  return vi.waitFor(
    async () => {
      const apis = service.apis.filter((api) => api.isRunning)
      const api = apis[Math.floor(Math.random() * apis.length)] ?? first(service.apis)
      // A process that is killed answers with the end of the connection.
      const answer = await post(api, page, key)
      expect([409, 503], answer.text).not.toContain(answer.status)
      return answer
    },
    { timeout: 30_000, interval: 20 },
  )
}

const isReplay = ({ headers }: TestResponse): boolean => headers.get('idempotency-replayed') === 'true'

async function commentsOf(page: string): Promise<{ id: string; body: string }[]> {
  const comments: { id: string; body: string }[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const path = `/discussions/by-external/${page}/comments?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`
    const { json } = await service.call('GET', path)
    comments.push(...json.data)
    cursor = json.nextCursor as string | null
  }
  return comments
}

test('fifty requests with one key over two processes create one comment (one process in the embedded form)', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => post(n % 2 === 0 ? first(service.apis) : last(service.apis), 'one', 'one')),
  )
  const made = answers.filter((answer) => answer.status === 201 && !isReplay(answer))
  expect(made).toHaveLength(1)
  for (const answer of answers) {
    if (answer.status === 201) expect(answer.text).toBe(first(made).text)
    else expect(answer.json).toMatchObject({ status: 409, code: 'idempotency_in_progress' })
  }
  for (const api of service.apis) expect((await post(api, 'one', 'one')).text).toBe(first(made).text)
  expect(await commentsOf('one')).toHaveLength(1)
})

test.runIf(onServer)(
  'kill -9 at random instants (server form only): each key has created exactly one comment, and its replay says which',
  async () => {
    const done = new Map<string, TestResponse>()
    let killing = true
    const poster = async (name: number): Promise<void> => {
      for (let n = 0; killing; n++) {
        const key = `key-${name}-${n}`
        done.set(key, await postUntilDone('killed', key))
      }
    }
    const killer = async (): Promise<void> => {
      for (let n = 0; n < KILLS; n++) {
        const victim = n % 2 === 0 ? first(service.apis) : last(service.apis)
        const size = done.size
        // At random moments of the requests under way.
        await vi.waitFor(() => expect(done.size).toBeGreaterThan(size + POSTERS * 2), { timeout: 30_000, interval: 5 })
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
        await victim.kill()
        await victim.start()
      }
    }
    await Promise.all([
      killer().finally(() => (killing = false)),
      ...Array.from({ length: POSTERS }, (_, name) => poster(name)),
    ])

    expect(done.size).toBeGreaterThan(KILLS * POSTERS * 2)
    const comments = await commentsOf('killed')
    expect(comments.map(({ body }) => body).toSorted()).toEqual([...done.keys()].toSorted())
    const byBody = new Map(comments.map(({ id, body }) => [body, id]))
    const rest = [...done]
    const checker = async (): Promise<void> => {
      for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
        const [key, answer] = next
        expect([answer.status, answer.json.id]).toEqual([201, byBody.get(key)])
        const again = await postUntilDone('killed', key)
        expect([again.status, isReplay(again), again.text]).toEqual([201, true, answer.text])
      }
    }
    await Promise.all(Array.from({ length: POSTERS }, checker))
    const { json } = await service.call('GET', '/discussions/by-external/killed')
    expect(json).toMatchObject({ commentCount: done.size, lastEventId: String(done.size) })
  },
)
