import { test } from 'vitest'
import { startService } from '../harness/service.ts'
test('x', async () => {
  const service = await startService({ worker: false, env: { LOG_LEVEL: 'debug' } })
  const { json } = await service.call('POST', '/discussions', { body: { externalId: 'a' } })
  const c = async () => (await service.call('POST', `/discussions/${json.id}/comments`, { body: { body: 'x' }, headers: await service.as('a') })).status
  console.log(await c())
  const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-api-key': service.apiKey },
      body: JSON.stringify({ query: `subscription ($d: ID!) { discussionEvents(discussionId: $d, lastEventId: "0") { seq } }`, variables: { d: json.id } }),
    })
  console.log(response.status, [...response.headers])
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (let i = 0; i < 8; i++) { const r = await Promise.race([reader.read(), new Promise(r => setTimeout(() => r('timeout'), 1500))]); console.log(JSON.stringify(r)); if (i == 3) await c(); if (r === 'timeout') break }
  console.log('hub'); 
  await reader.cancel().catch(console.log)
  await new Promise(r => setTimeout(r, 300))
  const { hubOf } = await import('../../src/domains/stream/hub.ts')
  console.log('sessions', hubOf(service.app).sessions.size)
  await service.close()
})
