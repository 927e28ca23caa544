import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'

import { type Behaviour, type Received, type Receiver, reply, startReceiver } from './receiver.ts'
import { startService, type TestService } from './service.ts'
import { unnamed } from './sql.ts'

const WAITING = unnamed('SELECT count(*)::int AS n FROM classifier_requests')

export const says =
  (verdict: string): Behaviour =>
  (_request, response) =>
    reply(response, 200, JSON.stringify({ verdict }))

/**
 * A service whose tenant has a classifier, from `beforeAll` to `afterAll`. Without its own worker,
 * the tests start what asks.
 */
export function useClassifiers(worker: boolean) {
  let receiver: Receiver
  let service: TestService
  let secrets: Record<string, string>
  let pages = 0
  let path = ''
  beforeAll(async () => {
    receiver = await startReceiver()
    service = await startService({ worker, env: { WEBHOOK_CA_FILE: receiver.caFile } })
    const json = await service.ok('POST', '/classifier-secrets')
    secrets = { [json.kid]: json.secret }
  })
  afterAll(async () => {
    await service.close()
    await receiver.close()
  })

  const set = async (body: object) => expect((await service.call('PATCH', '/settings', { body })).status).toBe(200)
  const isDecided = () =>
    vi.waitFor(async () => expect(await service.app.db.query(WAITING)).toEqual([{ n: 0 }]), { timeout: 10_000 })
  afterEach(async () => {
    receiver.on(path, null)
    await set({ classifier: null, moderationMode: 'none', suspectWords: [] })
    await isDecided()
  })

  return {
    get receiver() {
      return receiver
    },
    get service() {
      return service
    },
    get secrets() {
      return secrets
    },
    /** The page of the comments since the last `classify`. */
    get page() {
      return `page-${pages}`
    },
    /** The path of the classifier. */
    get path() {
      return path
    },
    set,
    isDecided,

    /** A classifier of its own for each test, so that none sees the questions of another. */
    async classify(behaviour: Behaviour, fallback: 'approve' | 'hold' = 'hold'): Promise<void> {
      path = `/classify-${++pages}`
      receiver.on(path, behaviour)
      await set({ classifier: { url: `${receiver.url}${path}`, fallback } })
    },

    /** The questions to the classifier. */
    asked: (): Received[] => receiver.requests.filter((request) => request.path === path),

    async post(body: string, { parentId, reader = 'ann' }: { parentId?: string; reader?: string } = {}) {
      return service.ok(
        'POST',
        `/discussions/by-external/page-${pages}/comments`,
        { body, ...(parentId === undefined ? {} : { parentId }) },
        await service.as(reader),
      )
    },
  }
}
