import { expect, test } from 'vitest'

import { first, last } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'

const service = useProcesses({ api: 2, worker: 0 })

test('many posts of one reader over two processes make one comment (one process in the embedded form)', async () => {
  for (const of of ['discussion', 'tenant']) {
    const made = await service.call('POST', '/discussions', { body: { externalId: `slow-${of}` } })
    const id = made.json.id as string
    const path = of === 'discussion' ? `/discussions/${id}` : '/settings'
    expect((await service.call('PATCH', path, { body: { slowModeSeconds: 3600 } })).status).toBe(200)
    const headers = await service.as('reader')
    const post = (n: number) =>
      service.call('POST', `/discussions/${id}/comments`, {
        api: n % 2 === 0 ? first(service.apis) : last(service.apis),
        body: { body: `Text ${n}` },
        headers,
      })
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => post(n)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    // 503: it waited too long for the lock.
    for (const { status } of answers) expect([201, 429, 503]).toContain(status)
    expect((await service.call('GET', `/discussions/${id}`)).json.commentCount).toBe(1)
  }
})
