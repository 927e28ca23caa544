import { expect, test, vi } from 'vitest'
import { first, startProcesses } from '../harness/processes.ts'
import { subscribe, listen, subscribeByPost } from '../harness/sse.ts'
test('x', async () => {
  const service = await startProcesses({})
  const { url } = first(service.apis)
  const headers = { 'x-api-key': service.apiKey }
  const { json } = await service.call('POST', '/discussions', { body: { externalId: 'p' } })
  for (let round = 0; round < 5; round++) {
    const all = Array.from({ length: 3 }, () => [subscribe({ url, headers, variables: { discussionId: json.id, lastEventId: '0' } }, true),
     subscribe({ url, headers, variables: { discussionId: json.id, lastEventId: '0' } }, false)]).flat()
    const r = await service.call('POST', `/discussions/${json.id}/comments`, { body: { body: 'x' }, headers: await service.as('a') })
    await new Promise((r) => setTimeout(r, 1500))
    console.log(round, r.status, JSON.stringify(all.map((s) => [s.received.length, s.failure])))
    all.forEach((s) => s.close())
  }
  console.log(first(service.apis).run.stderr)
  await service.close().catch((e) => console.log(String(e)))
}, 60000)
