import { expect, test, vi } from 'vitest'

import { first } from '../harness/processes.ts'
import { type Received, reply } from '../harness/receiver.ts'
import { useReceiverOfProcesses } from '../harness/service-processes.ts'

const { receiver, service } = useReceiverOfProcesses()

const textOf = ({ body }: Received): unknown => (body.comment as { body: string }).body

test('kill -9 of the worker between question and record: the comment is still decided, and once', async () => {
  await service.call('POST', '/classifier-secrets')
  // With this fallback a busy machine, where 2 s pass quickly, changes nothing: only a lost
  // question stays undecided.
  const classifier = { url: `${receiver.url}/classify`, fallback: 'approve' }
  await service.call('PATCH', '/settings', { body: { classifier } })
  // Killed while it is being answered: the verdict reaches no process.
  let killed: Promise<void> | undefined
  const worker = first(service.workers)
  receiver.on('/classify', (_request, response) => {
    killed ??= worker.kill()
    void killed.then(() => reply(response, 200, '{"verdict":"approve"}'))
    return true
  })
  const headers = await service.as('reader-1')
  const path = '/discussions/by-external/page/comments'
  const { json } = await service.call('POST', path, { body: { body: 'to be judged' }, headers })
  expect(json.status).toBe('pending')
  await vi.waitFor(() => expect(killed).toBeDefined(), { timeout: 10_000 })
  await killed
  await worker.start()
  const read = async () => (await service.call('GET', `/comments/${json.id}`)).json

  await vi.waitFor(async () => expect((await read()).status).toBe('approved'), { timeout: 30_000, interval: 100 })
  expect(new Set(receiver.requests.map(textOf))).toEqual(new Set(['to be judged']))
  const keys = receiver.requests.map((request) => request.headers['x-service-idempotency-key'])
  expect(new Set(keys)).toEqual(new Set([`comment_classify:${json.id}:1`]))
  // One event for the posting, one for the verdict.
  const discussion = await service.call('GET', `/discussions/${json.discussionId}`)
  expect(discussion.json).toMatchObject({ lastEventId: '2', commentCount: 1 })
})
