import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import type { App } from '../../src/core/app.ts'
import { CHANNELS } from '../../src/core/bus.ts'
import { openOutbound } from '../../src/outbound/outbound.ts'
import { startClassifier } from '../../src/worker/classifier.ts'
import { says, useClassifiers } from '../harness/classifiers.ts'
import { type Behaviour, hang, isGenuine, reply } from '../harness/receiver.ts'
import { startOwn, startService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const classifiers = useClassifiers(false)
const { asked, classify, isDecided, post, set } = classifiers
let { receiver, secrets, service } = classifiers
let stopAsking: () => Promise<unknown>
let publicKey: Record<string, string>

beforeAll(async () => {
  ;({ receiver, secrets, service } = classifiers)
  stopAsking = await askPatiently(service.app)
  publicKey = (await service.newKey()).headers
})
afterAll(() => stopAsking())

/**
 * A worker that waits a minute for a classifier, however busy the machine is.
 * `test/timing/classifier` has what becomes of the comments where it waits for 2 s.
 */
async function askPatiently(app: App): Promise<() => Promise<unknown>> {
  const outbound = openOutbound(app.settings)
  const task = startClassifier(app, {
    ...outbound,
    post: (request) => outbound.post({ ...request, timeoutMs: 60_000 }),
  })
  const unsubscribe = await app.bus.subscribe(CHANNELS.work, () => task.wake())
  return async () => {
    unsubscribe()
    await task.stop(0)
    outbound.close()
  }
}

const SET_SETTINGS = unnamed('UPDATE tenants SET settings = $2::jsonb WHERE id = $1')

const edit = async (id: string, body: string) =>
  service.call('PATCH', `/comments/${id}`, { body: { body }, headers: await service.as('ann') })
const read = async (id: string) => (await service.call('GET', `/comments/${id}`)).json
const act = (id: string, verb: string) => service.call('POST', `/comments/${id}/${verb}`)
const isPublic = async (id: string) =>
  (await service.call('GET', `/comments/${id}`, { headers: publicKey })).status === 200

const EVENTS = unnamed(`SELECT type, audience, actor->>'kind' AS actor, data->'comment'->>'body' AS body FROM events
   WHERE data->'comment'->>'id' = $1 ORDER BY seq`)
const eventsOf = async (id: string) =>
  (await service.app.db.query<Record<string, string>>(EVENTS, [id])).map(
    ({ type, audience, actor }) => `${type} ${audience} ${actor}`,
  )

describe('the question', () => {
  test('is signed like a delivery, contains the comment and its discussion, and is asked once', async () => {
    await classify(says('approve'))
    await service.ok('POST', '/discussions', {
      externalId: classifiers.page,
      title: 'A title',
      url: 'https://www.example.com/a',
    })
    const comment = await post('Is **this** all right?')
    expect(comment.status).toBe('pending')
    await isDecided()
    expect(asked()).toHaveLength(1)
    const [question] = asked()
    expect(isGenuine(question!, secrets)).toBe(true)
    expect(question?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'comment_classify',
      'x-service-idempotency-key': `comment_classify:${comment.id}:1`,
    })
    expect(question?.body).toEqual({
      type: 'comment_classify',
      comment,
      discussion: {
        id: comment.discussionId,
        externalId: classifiers.page,
        title: 'A title',
        url: 'https://www.example.com/a',
      },
    })
  })

  test('is not asked about comments that a rule has held', async () => {
    await classify(says('approve'))
    await set({ suspectWords: ['casino'] })
    const held = await post('casino')
    await post('harmless')
    await isDecided()
    expect(asked().map(({ body }) => (body.comment as { body: string }).body)).toEqual(['harmless'])
    expect((await read(held.id)).status).toBe('pending')
  })
})

test('is asked over http if WEBHOOK_ALLOW_HTTP allows it', async () => {
  const plain = createServer((_request, response) => response.end('{"verdict":"approve"}'))
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
  const { port } = plain.address() as AddressInfo
  const open = await startService({ worker: false, env: { WEBHOOK_ALLOW_HTTP: 'true' } })
  const stop = await askPatiently(open.app)
  await open.call('POST', '/classifier-secrets')
  const classifier = { url: `http://127.0.0.1:${port}/`, fallback: 'hold' }
  expect((await open.call('PATCH', '/settings', { body: { classifier } })).status).toBe(200)
  const comments = '/discussions/by-external/page/comments'
  const { json } = await open.call('POST', comments, { body: { body: 'Fine' }, headers: await open.as('ann') })
  await vi.waitFor(async () => expect((await open.call('GET', `/comments/${json.id}`)).json.status).toBe('approved'), {
    timeout: 10_000,
  })
  await stop()
  await open.close()
  await new Promise((resolve) => plain.close(resolve))
})

describe('a verdict', () => {
  test("approve publishes the comment as the system, and notifies the parent's author", async () => {
    await classify(says('approve'))
    const parent = await post('above', { reader: 'bob' })
    await isDecided()
    const { id } = await post('below', { parentId: parent.id })
    expect(await isPublic(id)).toBe(false)
    await isDecided()
    expect(await isPublic(id)).toBe(true)
    expect(await eventsOf(id)).toEqual([
      'comment_created tenant reader',
      'comment_approved public system',
      'notification_reply recipient system',
    ])
    const { commentCount } = (await service.call('GET', `/discussions/${parent.discussionId}`)).json
    expect(commentCount).toBe(2)
  })

  test('reject hides it from the public for good, and moderators see who rejected it', async () => {
    await classify(says('reject'))
    const { id } = await post('never')
    await isDecided()
    expect(await eventsOf(id)).toEqual(['comment_created tenant reader', 'comment_rejected tenant system'])
    const { data } = (await service.call('GET', '/moderation/queue?status=rejected&limit=1')).json
    expect(data[0]).toMatchObject({ comment: { id, status: 'rejected' }, reason: 'classifier' })
  })

  test('hold leaves it to moderators', async () => {
    await classify(says('hold'))
    const { id } = await post('perhaps')
    await isDecided()
    expect(await eventsOf(id)).toEqual(['comment_created tenant reader'])
    const { data } = (await service.call('GET', '/moderation/queue?limit=100')).json
    const item = data.find(({ comment }: { comment: { id: string } }) => comment.id === id)
    expect(item).toMatchObject({ comment: { status: 'pending' }, reason: 'classifier' })
    expect((await act(id, 'approve')).json).toMatchObject({ status: 'approved' })
  })

  test('in post-moderation publishes with the flag of a rule', async () => {
    await classify(says('approve'))
    await set({ moderationMode: 'post', suspectWords: ['casino'] })
    const { id } = await post('casino')
    await isDecided()
    expect(await isPublic(id)).toBe(true)
    const { data } = (await service.call('GET', '/moderation/queue?status=reported&limit=100')).json
    expect(data.at(-1)).toMatchObject({ comment: { id, status: 'approved' }, reason: 'suspect_word' })
  })
})

describe('without a verdict the fallback holds or approves:', () => {
  const broken: readonly [string, Behaviour][] = [
    ['status 500', (_request, response) => reply(response, 500, '{"verdict":"reject"}')],
    [
      'a redirect',
      (_request, response) => reply(response, 302, '', { location: `${receiver.url}/classify-elsewhere` }),
    ],
    ['no JSON', (_request, response) => reply(response, 200, 'approve')],
    ['another verdict', (_request, response) => reply(response, 200, '{"verdict":"delete"}')],
    ['no object', (_request, response) => reply(response, 200, '["approve"]')],
    ['an answer without end', (_request, response) => reply(response, 200, `"${'x'.repeat(200_000)}`)],
    ['a cut connection', (_request, response) => response.destroy()],
  ]

  test.each(broken)('%s', async (_what, behaviour) => {
    receiver.on('/classify-elsewhere', says('reject'))
    for (const [fallback, status] of [
      ['approve', 'approved'],
      ['hold', 'pending'],
    ] as const) {
      await classify(behaviour, fallback)
      const { id } = await post(`fallback ${fallback}`)
      await isDecided()
      expect((await read(id)).status).toBe(status)
      expect(asked()).toHaveLength(1)
    }
    expect(receiver.requests.filter((request) => request.path === '/classify-elsewhere')).toEqual([])
  })

  test('an address of a private network, which is never connected to', async () => {
    const guarded = await startOwn({
      env: { WEBHOOK_CA_FILE: receiver.caFile, WEBHOOK_ALLOWED_CIDRS: '' },
      worker: true,
    })
    // It was set while the process allowed it.
    const classifier = { url: `${receiver.url}/private`, fallback: 'approve' }
    await guarded.app.db.query(SET_SETTINGS, [guarded.tenant.id, JSON.stringify({ classifier })])
    await guarded.call('POST', '/classifier-secrets')
    const before = receiver.requests.length
    const comments = '/discussions/by-external/page/comments'
    const { json } = await guarded.call('POST', comments, { body: { body: 'x' }, headers: await guarded.as('ann') })
    expect(json.status).toBe('pending')
    await vi.waitFor(async () =>
      expect((await guarded.call('GET', `/comments/${json.id}`)).json.status).toBe('approved'),
    )
    expect(receiver.requests).toHaveLength(before)
  })

  test('without a signing secret nothing is sent', async () => {
    const other = await service.addTenant('without-secret')
    await classify(says('reject'))
    const headers = { 'x-api-key': other.apiKey, ...(await other.as('ann')) }
    const classifier = { url: `${receiver.url}${classifiers.path}`, fallback: 'approve' }
    await service.ok('PATCH', '/settings', { classifier }, { 'x-api-key': other.apiKey })
    const json = await service.ok('POST', '/discussions/by-external/x/comments', { body: 'x' }, headers)
    await isDecided()
    expect((await service.call('GET', `/comments/${json.id}`, { headers })).json.status).toBe('approved')
    expect(asked()).toEqual([])
  })

  test('the settings refuse http addresses', async () => {
    const { status } = await service.call('PATCH', '/settings', {
      body: { classifier: { url: 'http://a.example' } },
    })
    expect(status).toBe(422)
  })
})

describe('while the classifier is answering', () => {
  /** A classifier that answers when it is let to. */
  async function slow(verdict: string) {
    const open: (() => void)[] = []
    await classify((_request, response) => {
      open.push(() => void reply(response, 200, JSON.stringify({ verdict })))
      return true
    })
    return async (count: number, answer: () => Promise<unknown>) => {
      await vi.waitFor(() => expect(open).toHaveLength(count))
      await answer()
      for (const release of open) release()
      await isDecided()
    }
  }

  test.each([
    ['reject', 'approve', 'rejected'],
    ['approve', 'reject', 'approved'],
  ] as const)("a moderator's %s wins over its %s", async (verb, verdict, status) => {
    const release = await slow(verdict)
    const { id } = await post('who is first?')
    await release(1, () => act(id, verb))
    expect((await read(id)).status).toBe(status)
    expect(await eventsOf(id)).toHaveLength(2)
  })

  test('the author deletes it: the verdict is dropped', async () => {
    const release = await slow('approve')
    const { id } = await post('gone')
    await release(1, async () => service.call('DELETE', `/comments/${id}`, { headers: await service.as('ann') }))
    expect(await eventsOf(id)).toEqual(['comment_created tenant reader', 'comment_deleted tenant reader'])
  })

  test('the author edits it: it is asked again, and only the newest text is judged', async () => {
    await classify((request, response) => {
      const { body, revision } = request.body.comment as { body: string; revision: number }
      if (revision === 1) return hang(request, response)
      return reply(response, 200, JSON.stringify({ verdict: body === 'good' ? 'approve' : 'reject' }))
    })
    const { id } = await post('bad')
    await vi.waitFor(() => expect(asked()).toHaveLength(1))
    expect((await edit(id, 'good')).json).toMatchObject({ status: 'pending', revision: 2 })
    await isDecided()
    expect((await read(id)).status).toBe('approved')
    expect(asked().map(({ headers }) => headers['x-service-idempotency-key'])).toEqual([
      `comment_classify:${id}:1`,
      `comment_classify:${id}:2`,
    ])
    expect((await eventsOf(id)).at(-1)).toBe('comment_approved public system')
  })

  test('a late verdict on an earlier text is ignored', async () => {
    const open: (() => void)[] = []
    await classify((request, response) => {
      const { revision } = request.body.comment as { revision: number }
      open.push(() => void reply(response, 200, JSON.stringify({ verdict: revision === 1 ? 'approve' : 'reject' })))
      return true
    })
    const { id } = await post('good')
    await vi.waitFor(() => expect(open).toHaveLength(1))
    await edit(id, 'bad')
    await vi.waitFor(() => expect(open).toHaveLength(2))
    open[0]?.()
    open[1]?.()
    await isDecided()
    expect((await read(id)).status).toBe('rejected')
    expect(await eventsOf(id)).not.toContain('comment_approved public system')
  })

  test('an edit that a rule holds ends the question', async () => {
    const release = await slow('approve')
    await set({ suspectWords: ['casino'] })
    const { id } = await post('harmless')
    await release(1, () => edit(id, 'casino'))
    expect((await read(id)).status).toBe('pending')
  })

  test('the discussion is archived: nothing changes', async () => {
    const release = await slow('approve')
    const { id, discussionId } = await post('too late')
    await release(1, () => service.call('POST', `/discussions/${discussionId}/archive`))
    expect((await read(id)).status).toBe('pending')
  })

  test('the author is banned in shadow: approval does not publish', async () => {
    const release = await slow('approve')
    const { id, author } = await post('shadow', { reader: 'shade' })
    await release(1, () => service.call('POST', `/readers/${author.id}/ban`, { body: { shadow: true } }))
    expect((await read(id)).status).toBe('pending')
  })
})

test('an edit of a published comment is asked about, and is out of view meanwhile', async () => {
  await classify(says('approve'))
  const { id } = await post('first')
  await isDecided()
  receiver.on(classifiers.path, says('reject'))
  expect((await edit(id, 'second')).json).toMatchObject({ status: 'pending' })
  await isDecided()
  expect(await eventsOf(id)).toEqual([
    'comment_created tenant reader',
    'comment_approved public system',
    'comment_edited public reader',
    'comment_rejected tenant system',
  ])
})

test('an approval does not answer reports, which stay for moderators', async () => {
  await classify(says('approve'))
  const { id } = await post('reported')
  await isDecided()
  await service.ok('POST', `/comments/${id}/report`, { reason: 'spam' }, await service.as('bob'))
  await edit(id, 'reported, and edited')
  await isDecided()
  const { data } = (await service.call('GET', '/moderation/queue?status=reported&limit=100')).json
  expect(data.at(-1)).toMatchObject({ comment: { id, status: 'approved' }, openReportCount: 1 })
})

test('two workers ask about each of many comments once, and decide each once', async () => {
  const stopSecond = await askPatiently(service.app)
  try {
    await classify(says('approve'))
    const posts = await Promise.all(Array.from({ length: 20 }, (_, n) => post(`${n}`, { reader: `r-${n}` })))
    await isDecided()
    const questions = asked().map(({ body }) => (body.comment as { id: string }).id)
    expect(new Set(questions).size).toBe(questions.length)
    expect(questions.length).toBeGreaterThan(0)
    for (const { id } of posts) {
      expect(await eventsOf(id)).toEqual(['comment_created tenant reader', 'comment_approved public system'])
    }
  } finally {
    await stopSecond()
  }
})

test('after a rotation both secrets sign for 24 h, and the audit log contains neither', async () => {
  await classify(says('approve'))
  const { json } = await service.call('POST', '/classifier-secrets')
  expect(json).toEqual({
    kid: expect.stringMatching(/^[0-9a-f]{8}$/),
    secret: expect.any(String),
    standardSecret: `whsec_${Buffer.from(json.secret.slice(4), 'hex').toString('base64')}`,
    createdAt: expect.any(String),
  })
  expect(json.secret).toMatch(/^whs_[0-9a-f]{64}$/)
  await post('signed twice')
  await isDecided()
  const [question] = asked()
  expect(isGenuine(question!, { [json.kid]: json.secret })).toBe(true)
  expect(isGenuine(question!, secrets, 'signature-previous')).toBe(true)
  secrets[json.kid] = json.secret
  const rows = await service.app.db.query<{ text: string }>(
    unnamed(`SELECT a::text AS text FROM audit_log a WHERE action = 'classifier_secret.create'`),
  )
  expect(rows.length).toBeGreaterThanOrEqual(2)
  for (const { text } of rows) expect(text).not.toMatch(/whs_/)
})
