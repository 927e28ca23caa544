import { createServer, type IncomingMessage } from 'node:http'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { adoptNoticeChannel } from '../../src/domains/notices/adopt.ts'
import { addressOf, MAX_CHANNELS } from '../../src/domains/notices/notices.ts'
import { openOutbound, type Outbound } from '../../src/outbound/outbound.ts'
import { tellChannels } from '../../src/worker/notices.ts'
import { open, shut } from '../harness/backends.ts'
import { type TestResponse, type TestTenant, useService } from '../harness/service.ts'
import { keyOf } from '../harness/sites.ts'

const ALL = ['comment_waiting', 'endpoint_failing', 'endpoint_disabled', 'export_ready']

const service = useService({ env: { WEBHOOK_ALLOW_HTTP: 'true' } })
let tenant: TestTenant
let outbound: Outbound
let url: string
/** What the channel got, and what it answers. */
const got: { path: string; type: string | undefined; body: TestResponse['json'] }[] = []
let status = 200

const receiver = createServer((request, response) => {
  void textOf(request).then((text) => {
    got.push({ path: request.url ?? '', type: request.headers['content-type'], body: JSON.parse(text) })
    response.writeHead(status).end('ok')
  })
})

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request) text += String(part)
  return text
}

beforeAll(async () => {
  outbound = openOutbound(service.app.settings)
  url = await open(receiver)
})
afterAll(async () => {
  outbound.close()
  await shut(receiver)
})
beforeEach(async () => {
  // Channels of earlier tests are told nothing more.
  await service.app.prisma.noticeChannel.deleteMany()
  tenant = await service.addTenant(`t-${newId()}`)
  got.length = 0
  status = 200
})

const call = (method: string, path: string, body?: object) =>
  service.call(method, path, { headers: keyOf(tenant), ...(body && { body }) })

async function create(body: object = {}) {
  const given = { kind: 'webhook', url: `${url}/secret-path`, on: ALL, ...body }
  const answer = await call('POST', '/notice-channels', given)
  expect(answer.status, answer.text).toBe(201)
  return answer.json
}

const channel = (id: string) =>
  service.app.prisma.noticeChannel.findUniqueOrThrow({ where: { tenantId_id: { tenantId: tenant.tenant.id, id } } })

/** Lets the workers look at all channels, as if so much time had passed. */
async function look({ minutesLater = 0 } = {}): Promise<void> {
  const { prisma } = service.app
  for (const { tenantId, id, told } of await prisma.noticeChannel.findMany()) {
    const { sentAt = {}, ...rest } = told as { sentAt?: Record<string, number> }
    const earlier = Object.entries(sentAt).map(([cause, at]) => [cause, at - minutesLater * 60_000])
    const data = { dueAt: new Date(0), told: { ...rest, sentAt: Object.fromEntries(earlier) } }
    await prisma.noticeChannel.update({ where: { tenantId_id: { tenantId, id } }, data })
  }
  await tellChannels(service.app, outbound, new AbortController().signal)
}

async function hold(count = 1): Promise<void> {
  await call('PATCH', '/settings', { moderationMode: 'pre' })
  for (let n = 0; n < count; n++) {
    const headers = { ...keyOf(tenant), ...(await tenant.as(`r-${n}`)) }
    await service.ok('POST', `/discussions/by-external/a/comments`, { body: newId() }, headers)
  }
}

describe('channels', () => {
  test('are made, read, changed and deleted, and never show their address', async () => {
    const made = await create({ on: ['comment_waiting'] })
    expect(made).toEqual({
      id: expect.any(String) as string,
      kind: 'webhook',
      host: new URL(url).host,
      on: ['comment_waiting'],
      lastSentAt: null,
      lastError: null,
      createdAt: expect.any(String) as string,
    })
    const listed = await call('GET', '/notice-channels')
    const one = await call('GET', `/notice-channels/${made.id}`)
    const changed = await call('PATCH', `/notice-channels/${made.id}`, { on: ALL, url: `${url}/other-secret` })
    expect(changed.json.on).toEqual(ALL)
    const log = await call('GET', '/audit-log')
    for (const { text } of [listed, one, changed, log]) expect(text).not.toMatch(/secret-path|other-secret/)
    const row = await channel(made.id)
    expect(Buffer.from(row.sealed ?? []).toString('latin1')).not.toContain('secret')
    expect(addressOf(service.app.settings, row)).toBe(`${url}/other-secret`)
    expect((await call('DELETE', `/notice-channels/${made.id}`)).status).toBe(204)
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect((await call(method, `/notice-channels/${made.id}`, method === 'PATCH' ? {} : undefined)).status).toBe(404)
    const actions = log.json.data.map(({ action }: { action: string }) => action)
    expect(actions).toEqual(expect.arrayContaining(['notice_channel.create', 'notice_channel.update']))
  })

  test.each([
    ['an address inside', { url: 'http://10.0.0.1/x' }, '/url'],
    ['an address that is none', { url: 'hooks' }, '/url'],
    ['another kind', { kind: 'mail' }, '/kind'],
    ['no cause', { on: [] }, '/on'],
    ['an unknown cause', { on: ['comment_created'] }, '/on/0'],
    ['a repeated cause', { on: ['comment_waiting', 'comment_waiting'] }, '/on'],
  ])('%s is 422', async (_what, body, pointer) => {
    const given = { kind: 'slack', url: 'https://hooks.example.com/x', on: ALL, ...body }
    const { status: answered, json } = await call('POST', '/notice-channels', given)
    expect([answered, json.errors?.[0]?.pointer]).toEqual([422, pointer])
  })

  test(`there are at most ${MAX_CHANNELS}, also of those that are made at once`, async () => {
    const body = { kind: 'slack', url: 'https://hooks.example.com/x', on: ALL }
    const answers = await Promise.all(
      Array.from({ length: MAX_CHANNELS + 2 }, () => call('POST', '/notice-channels', body)),
    )
    expect(answers.filter((each) => each.status === 201)).toHaveLength(MAX_CHANNELS)
    expect(answers.filter((each) => each.status === 422)).toHaveLength(2)
  })

  test('need manage_settings', async () => {
    const { json: key } = await call('POST', '/keys', { label: 'none', capabilities: [] })
    const refused = await service.call('GET', '/notice-channels', { headers: { 'x-api-key': key.key } })
    expect(refused.json.code).toBe('missing_capability')
  })
})

describe('a test message', () => {
  test('is sent once, whatever else there is to tell, and its outcome is told', async () => {
    const { id } = await create({ on: ['export_ready'] })
    const ask = () => call('POST', `/notice-channels/${id}/test`)
    expect((await ask()).status).toBe(202)
    await look()
    const message = { cause: 'test', tenant: tenant.tenant.slug, text: 'This is a test message. Notices come here.' }
    expect(got.map(({ body }) => body)).toEqual([
      { ...message, url: expect.stringMatching(/\/console\/settings#notices$/), at: expect.any(String) },
    ])
    const taken = (await call('GET', `/notice-channels/${id}`)).json
    expect(taken).toMatchObject({ lastSentAt: expect.any(String), lastError: null })
    await look({ minutesLater: 2 })
    expect(got).toHaveLength(1)

    status = 500
    await ask()
    await look()
    expect((await call('GET', `/notice-channels/${id}`)).json).toMatchObject({
      lastSentAt: taken.lastSentAt,
      lastError: 'status 500',
    })
    const { failures, dueAt } = await channel(id)
    expect(failures).toBe(0)
    expect(dueAt.getTime()).toBeLessThan(Date.now() + 20_000)
    status = 200
    await look({ minutesLater: 2 })
    expect(got).toHaveLength(2)
    expect((await service.call('POST', `/notice-channels/${id}/test`)).status).toBe(404)
  })

  test('is refused while another one waits, and for ten seconds after it', async () => {
    const { id } = await create({ on: ['export_ready'] })
    const ask = () => call('POST', `/notice-channels/${id}/test`)
    expect((await ask()).status).toBe(202)
    const waiting = await ask()
    expect([waiting.status, waiting.json.code]).toEqual([429, 'rate_limited'])
    await look()
    const soon = await ask()
    expect([soon.status, Number(soon.headers.get('retry-after'))]).toEqual([429, expect.any(Number)])
    await look({ minutesLater: 1 })
    expect((await ask()).status).toBe(202)
    expect(got).toHaveLength(1)
  })

  test('that is asked for while a notice is under way is sent after it, and nothing twice', async () => {
    const { id } = await create({ on: ['comment_waiting'] })
    await hold()
    const { signal } = new AbortController()
    const post: Outbound['post'] = async (...request) => {
      expect((await call('POST', `/notice-channels/${id}/test`)).status).toBe(202)
      // Another worker, which must leave the channel to the first one.
      await tellChannels(service.app, outbound, signal)
      return outbound.post(...request)
    }
    await service.app.prisma.noticeChannel.updateMany({ data: { dueAt: new Date(0) } })
    await tellChannels(service.app, { ...outbound, post }, signal)
    await tellChannels(service.app, outbound, signal)
    expect(got.map(({ body }) => body.cause)).toEqual(['comment_waiting', 'test'])
    await look({ minutesLater: 2 })
    expect(got).toHaveLength(2)
  })

  test('has the form of the kind', async () => {
    const { id } = await create({ kind: 'slack' })
    await call('POST', `/notice-channels/${id}/test`)
    await look()
    expect(got[0]?.body).toEqual({
      text: expect.stringMatching(/^\[t-.*\] This is a test message\. Notices come here\. <.*\|Open the console>$/),
    })
  })
})

describe('what a channel is told', () => {
  test('comments that wait: one message for many, and none of what waited before', async () => {
    await hold()
    await create()
    await look()
    expect(got).toEqual([])
    await hold(3)
    await look()
    expect(got).toMatchObject([
      {
        path: '/secret-path',
        type: 'application/json',
        body: { cause: 'comment_waiting', tenant: tenant.tenant.slug, text: '3 new comments wait for a moderator.' },
      },
    ])
    expect(got[0]?.body.url).toMatch(/\/console\/moderation$/)
    await look({ minutesLater: 2 })
    expect(got).toHaveLength(1)
  })

  test('a comment that was committed after one with a greater id', async () => {
    await create()
    await hold(2)
    const { prisma } = service.app
    const of = { tenantId: tenant.tenant.id }
    const first = await prisma.comment.findFirstOrThrow({ where: of, orderBy: { id: 'asc' } })
    // As it is to others until its commit.
    const where = { tenantId_id: { ...of, id: first.id } }
    await prisma.comment.update({ where, data: { status: 'approved' } })
    await look()
    await prisma.comment.update({ where, data: { status: 'pending' } })
    for (let n = 0; n < 3; n++) await look({ minutesLater: 2 })
    expect(got.map(({ body }) => body.text)).toEqual(Array(2).fill('1 new comment waits for a moderator.'))
  })

  test('at most one message of a cause in a minute: the next one has what came meanwhile', async () => {
    await create()
    await hold()
    await look()
    await hold(2)
    await look()
    expect(got).toHaveLength(1)
    await look({ minutesLater: 2 })
    expect(got.map(({ body }) => body.text)).toEqual([
      '1 new comment waits for a moderator.',
      '2 new comments wait for a moderator.',
    ])
  })

  test('an endpoint that fails, and again once it has recovered, by its host alone', async () => {
    await create()
    const { json: endpoint } = await call('POST', '/webhooks', {
      url: 'https://hooks.example.com/token-x',
      eventTypes: ['*'],
    })
    const set = (data: object) =>
      service.app.prisma.webhookEndpoint.update({
        where: { tenantId_id: { tenantId: tenant.tenant.id, id: endpoint.id } },
        data,
      })
    await set({ state: 'verified', circuitOpenUntil: new Date(Date.now() + 60_000) })
    await look()
    await look({ minutesLater: 2 })
    expect(got.map(({ body }) => [body.cause, body.text])).toEqual([
      ['endpoint_failing', 'Deliveries fail at hooks.example.com.'],
    ])
    await set({ circuitOpenUntil: null })
    await look({ minutesLater: 2 })
    await set({ circuitOpenUntil: new Date(0) })
    await look({ minutesLater: 2 })
    expect(got).toHaveLength(2)
    await set({ state: 'disabled', disabledReason: 'gone', circuitOpenUntil: null })
    await look({ minutesLater: 2 })
    expect(got[2]?.body).toMatchObject({
      cause: 'endpoint_disabled',
      text: 'Deliveries have ended at hooks.example.com.',
    })
    expect(JSON.stringify(got)).not.toContain('token-x')
  })

  test('an export that is ready', async () => {
    await create({ on: ['export_ready'] })
    const tenantId = tenant.tenant.id
    const ended = { completedAt: new Date(Date.now() + 1000), expiresAt: new Date(Date.now() + 86_400_000) }
    await service.app.prisma.tenantExport.create({ data: { tenantId, id: newId(), bytes: 1n, ...ended } })
    await service.app.prisma.tenantExport.create({ data: { tenantId, id: newId(), error: 'failed', ...ended } })
    await hold()
    await look()
    await look({ minutesLater: 2 })
    expect(got.map(({ body }) => body.cause)).toEqual(['export_ready'])
  })

  test('nothing of a suspended tenant', async () => {
    await create()
    await hold()
    await service.app.prisma.tenant.update({ where: { id: tenant.tenant.id }, data: { suspendedAt: new Date() } })
    await look()
    expect(got).toEqual([])
  })
})

describe('the form of a message', () => {
  const bodyOf = async (kind: string) => {
    await create({ kind, on: ['comment_waiting'] })
    await hold()
    await look()
    return got[0]?.body
  }
  const TEXT = () => `[${tenant.tenant.slug}] 1 new comment waits for a moderator.`

  test('of Slack is a text with a link', async () => {
    const body = await bodyOf('slack')
    expect(Object.keys(body as object)).toEqual(['text'])
    expect(body.text).toMatch(
      /^\[t-[\w-]+\] 1 new comment waits for a moderator\. <http[^|<>]+\/console\/moderation\|Open the console>$/,
    )
  })

  test('of Discord is a content that calls nobody', async () => {
    const body = await bodyOf('discord')
    expect(body).toEqual({
      content: expect.stringContaining(TEXT()) as string,
      allowed_mentions: { parse: [] },
    })
  })

  test('of Teams is a message with an adaptive card', async () => {
    const body = await bodyOf('teams')
    expect(body).toMatchObject({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: { type: 'AdaptiveCard', body: [{ type: 'TextBlock', text: TEXT(), wrap: true }] },
        },
      ],
    })
  })
})

test('one that was imported is due only once it has an address', async () => {
  const { app } = service
  const item = { id: newId(), kind: 'slack', host: 'hooks.example.com', on: ['comment_waiting'] } as const
  const of = { tenantId: tenant.tenant.id, importId: newId() }
  const given = { ...item, createdAt: new Date() }
  expect(await app.db.transaction((sql) => adoptNoticeChannel(sql, of, given))).toBe('taken')
  const due = () => app.prisma.noticeChannel.count({ where: { dueAt: { lte: new Date() } } })
  // A worker of the release before would read it, and fail for all tenants.
  expect(await due()).toBe(0)
  await call('PATCH', `/notice-channels/${item.id}`, { on: ALL })
  expect(await due()).toBe(0)
  await call('PATCH', `/notice-channels/${item.id}`, { url: `${url}/given` })
  expect(await due()).toBe(1)
})

test('one that is imported waits for the tenant before it counts, as a new one does', async () => {
  const { app } = service
  const of = { tenantId: tenant.tenant.id, importId: newId() }
  const given = { id: newId(), kind: 'slack', host: 'hooks.example.com', on: [], createdAt: new Date() } as const
  const asked: string[] = []
  await app.db.transaction((sql) =>
    adoptNoticeChannel(
      sql.within(({ name, text }, run) => {
        asked.push(name === 'lock_tenant' ? name : text)
        return run()
      }),
      of,
      given,
    ),
  )
  expect(asked[0]).toBe('lock_tenant')
  expect(asked[1]).toContain('notice_channels')
})

describe('a channel that does not take a message', () => {
  test('is tried ever less often, shows why, and gets all of it once it answers', async () => {
    const { id } = await create({ on: ['comment_waiting'] })
    await hold()
    status = 500
    await look()
    const after = await channel(id)
    expect([after.failures, after.lastError, after.lastSentAt]).toEqual([1, 'status 500', null])
    expect(after.dueAt.getTime()).toBeGreaterThan(Date.now() + 30_000)
    await look()
    expect((await channel(id)).dueAt.getTime()).toBeGreaterThan(Date.now() + 90_000)
    await hold()
    status = 204
    await look()
    expect(got.at(-1)?.body.text).toBe('2 new comments wait for a moderator.')
    expect(await channel(id)).toMatchObject({ failures: 0, lastError: null, lastSentAt: expect.any(Date) as Date })
  })

  test('by a redirect is not followed', async () => {
    const { id } = await create()
    await hold()
    status = 302
    await look()
    expect((await channel(id)).lastError).toBe('status 302')
    expect(got).toHaveLength(1)
  })

  test('is told by one of several workers', async () => {
    await create({ on: ['comment_waiting'] })
    await hold()
    await service.app.prisma.noticeChannel.updateMany({ data: { dueAt: new Date(0) } })
    const { signal } = new AbortController()
    await Promise.all([1, 2, 3].map(() => tellChannels(service.app, outbound, signal)))
    expect(got).toHaveLength(1)
  })

  test('is told again by another worker where one has died before it was stored', async () => {
    const { id } = await create({ on: ['comment_waiting'] })
    await hold()
    const before = await channel(id)
    await look()
    // As the dead worker has left it: leased, and its message not noted.
    await service.app.prisma.noticeChannel.updateMany({ data: { told: before.told as object, dueAt: new Date(0) } })
    await tellChannels(service.app, outbound, new AbortController().signal)
    expect(got.map(({ body }) => body.text)).toEqual(Array(2).fill('1 new comment waits for a moderator.'))
  })

  test.each<[string, object]>([
    ['address', { url: 'another' }],
    ['causes', { on: ['export_ready'] }],
  ])('keeps other %s that it got while its message was under way', async (_name, change) => {
    const { id } = await create({ on: ['comment_waiting'] })
    await hold()
    let changed: { dueAt: Date; told: unknown } | undefined
    const post: Outbound['post'] = async (...request) => {
      const body = 'url' in change ? { url: `${url}/another` } : change
      const answer = await call('PATCH', `/notice-channels/${id}`, body)
      expect(answer.status, answer.text).toBe(200)
      changed = await channel(id)
      return outbound.post(...request)
    }
    await service.app.prisma.noticeChannel.updateMany({ data: { dueAt: new Date(0) } })
    await tellChannels(service.app, { ...outbound, post }, new AbortController().signal)
    expect(got).toHaveLength(1)
    const { dueAt, told } = await channel(id)
    expect({ dueAt, told }).toEqual({ dueAt: changed?.dueAt, told: changed?.told })
  })

  test('stays as it was changed while its message was under way', async () => {
    const { id } = await create({ on: ['comment_waiting'] })
    await hold()
    const changing = call('PATCH', `/notice-channels/${id}`, { url: `${url}/another` })
    await Promise.all([changing, look()])
    const row = await channel(id)
    expect(addressOf(service.app.settings, row)).toBe(`${url}/another`)
  })
})
