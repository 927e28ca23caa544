import { expect, test } from 'vitest'

import { first, last, type Processes } from '../harness/processes.ts'
import { useProcesses } from '../harness/service-processes.ts'

const service = useProcesses({ api: 2, worker: 0 })

test('of one text by many readers over two processes as many pass as may (one process in the embedded form)', async () => {
  const settings = { body: { holdRepeatedText: 3 } }
  expect((await service.call('PATCH', '/settings', settings)).status).toBe(200)
  // Each process takes up the settings within a second.
  const tried = (api: Processes['apis'][number]) => service.call('GET', '/settings', { api })
  await expect.poll(async () => (await tried(last(service.apis))).json.holdRepeatedText, { timeout: 10_000 }).toBe(3)
  await expect.poll(async () => (await tried(first(service.apis))).json.holdRepeatedText, { timeout: 10_000 }).toBe(3)
  const post = async (n: number) =>
    service.call('POST', `/discussions/by-external/page-${n}/comments`, {
      api: n % 2 === 0 ? first(service.apis) : last(service.apis),
      body: { body: 'The same text from everyone, everywhere' },
      headers: await service.as(`reader-${n}`),
    })
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => post(n)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
  expect(answers.filter(({ json }) => json.status === 'approved')).toHaveLength(3)
})
