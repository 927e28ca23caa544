import { beforeEach, describe, expect, test, vi } from 'vitest'

import { unseal } from '../../src/core/secrets/seals.ts'
import { ownHeaderContext } from '../../src/core/delivery/own-headers.ts'
import { newId } from '../../src/core/ids.ts'
import { addDelivery } from '../harness/outbox.ts'
import { unnamed } from '../harness/sql.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service, whenVerified } = useReceiver()
let path: string
let counter = 0

const TOKEN = 'Bearer s3cret-of-the-gateway'

beforeEach(() => {
  path = `/hook-${++counter}`
})

const register = (body: object) => service.call('POST', '/webhooks', { body: { url: receiver.url + path, ...body } })
const change = (id: string, body: object) => service.call('PATCH', `/webhooks/${id}`, { body })

describe('headers of its own', () => {
  const HEADERS = [
    { name: 'Authorization', value: TOKEN },
    { name: 'X-Gateway-Key', value: 'k' },
  ]

  test('are on handshakes and deliveries; their values are sealed, and shown nowhere', async () => {
    receiver.on(path, (request, response) =>
      request.body.type === 'verification'
        ? undefined
        : response
            .setHeader('set-cookie', ['session=of-the-receiver; Path=/'])
            .setHeader('x-echo', `it was ${TOKEN}, ${String(request.headers['x-service-signature'])}`)
            .writeHead(200)
            .end(JSON.stringify(request.headers)),
    )
    const { status, json, text } = await register({ headers: HEADERS })
    expect([status, json.headers]).toEqual([201, [{ name: 'authorization' }, { name: 'x-gateway-key' }]])
    await whenVerified(json.id)
    expect(receiver.handshakes(path)[0]?.headers).toMatchObject({ authorization: TOKEN, 'x-gateway-key': 'k' })
    const { deliveryId } = await addDelivery(service.app, service.tenant.id, json.id)
    const at = `/webhooks/${json.id}/deliveries/${deliveryId}`
    await vi.waitFor(async () => expect((await service.call('GET', at)).json.status).toBe('delivered'))
    expect(receiver.deliveries(path)[0]?.headers).toMatchObject({
      authorization: TOKEN,
      'x-service-event': 'discussion_locked',
    })
    const delivery = await service.call('GET', at)
    expect(delivery.json.headers).toMatchObject({ authorization: '[redacted]', 'x-gateway-key': '[redacted]' })
    const [attempt] = delivery.json.attempts
    expect(attempt.responseSnippet).toContain('[header]')
    expect(attempt.requestHeaders).toMatchObject({ authorization: '[redacted]', 'x-gateway-key': '[redacted]' })
    expect(attempt.responseHeaders).toMatchObject({
      'set-cookie': '[redacted]',
      'x-echo': expect.stringMatching(/^it was \[header\], t=\d+,v1=\[signature\],kid=/),
    })
    expect(delivery.text).not.toContain('of-the-receiver')
    const audit = await service.app.prisma.auditEntry.findMany({ where: { targetId: json.id } })
    for (const shown of [text, delivery.text, (await service.call('GET', '/webhooks')).text, JSON.stringify(audit)]) {
      expect(shown).not.toContain('s3cret')
    }
    const rows = await service.app.prisma.webhookHeader.findMany({ where: { endpointId: json.id } })
    for (const { name, sealed } of rows) {
      expect(Buffer.from(sealed).toString('latin1')).not.toContain('s3cret')
      const value = unseal(service.app.settings, sealed, ownHeaderContext(json.id, name))
      expect(value).toBe(name === 'authorization' ? TOKEN : 'k')
    }
  })

  test('are replaced as a whole; one without a value keeps it', async () => {
    const { id } = (await register({ headers: HEADERS })).json
    await whenVerified(id)
    const headers = [{ name: 'AUTHORIZATION' }, { name: 'x-other', value: 'new' }]
    expect((await change(id, { headers })).json.headers).toEqual([{ name: 'authorization' }, { name: 'x-other' }])
    await addDelivery(service.app, service.tenant.id, id)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    const sent = receiver.deliveries(path)[0]?.headers
    expect(sent).toMatchObject({ authorization: TOKEN, 'x-other': 'new' })
    expect(sent).not.toHaveProperty('x-gateway-key')
    expect((await change(id, { headers: [{ name: 'authorization', value: 'other' }] })).status).toBe(200)
    expect((await change(id, { description: 'a note' })).json.headers).toEqual([{ name: 'authorization' }])
    expect((await change(id, { headers: [] })).json.headers).toEqual([])
  })

  test('are dropped when the url changes to another origin, and stay at another path', async () => {
    const { id } = (await register({ headers: HEADERS })).json
    expect((await change(id, { url: `${receiver.url}${path}-next` })).json.headers).toHaveLength(2)
    const elsewhere = `https://localhost:${new URL(receiver.url).port}${path}`
    const kept = await change(id, { url: elsewhere, headers: [{ name: 'authorization' }] })
    expect(kept.json).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/headers/0/value' }] })
    expect((await change(id, { url: elsewhere })).json.headers).toEqual([])
  })

  test.each([
    'X-Service-Signature',
    'x-service-x',
    'webhook-id',
    'Webhook-Anything',
    'X-Forwarded-For',
    'Metadata',
    'Metadata-Flavor',
    'X-aws-ec2-metadata-token',
    'Host',
    'Cookie',
    'Expect',
    'Forwarded',
    'Connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Proxy-Authorization',
    'Proxy-Connection',
    'Content-Type',
    'Content-Length',
    'Content-Encoding',
    '',
    'a b',
    'a:b',
    'a\r\nb',
    'ü',
    'a\0',
    'x'.repeat(101),
  ])('are refused with the name %j', async (name) => {
    const { status, json } = await register({ headers: [{ name, value: 'v' }] })
    expect([status, json.errors?.[0]?.pointer]).toEqual([422, '/headers/0/name'])
  })

  test.each([
    '',
    ' ',
    'a\r\nX-Injected: 1',
    'a\nb',
    'a\rb',
    'a\0b',
    ' a',
    'a ',
    '\u0085',
    'ü',
    'a\u007f',
    'x'.repeat(4097),
  ])('are refused with the value %j', async (value) => {
    const { status, json } = await register({ headers: [{ name: 'x-a', value }] })
    expect([status, json.errors?.[0]?.pointer]).toEqual([422, '/headers/0/value'])
  })

  test('cannot be named __proto__, which no object could carry', async () => {
    const { status, json } = await register({ headers: [{ name: '__proto__', value: 'v' }] })
    expect([status, json.errors[0]]).toMatchObject([422, { pointer: '/headers/0/name', code: 'not_allowed' }])
  })

  test('are at most ten, each name once, in any case', async () => {
    const many = (count: number) => Array.from({ length: count }, (_each, n) => ({ name: `x-${n}`, value: 'v' }))
    expect((await register({ headers: many(10) })).status).toBe(201)
    expect((await register({ headers: many(11) })).status).toBe(422)
    const twice = [
      { name: 'x-a', value: '1' },
      { name: 'X-A', value: '2' },
    ]
    expect((await register({ headers: twice })).status).toBe(422)
    expect((await register({ headers: [{ name: 'x-a' }] })).json.errors).toEqual([
      expect.objectContaining({ pointer: '/headers/0/value', code: 'required' }),
    ])
  })
})

describe('discussionIds', () => {
  test('limit an endpoint to the events of these discussions, replays too', async () => {
    const headers = await service.as('reader-1')
    const post = async (page: string): Promise<string> =>
      (await service.call('POST', `/discussions/by-external/${page}/comments`, { body: { body: 'x' }, headers })).json
        .discussionId
    const [wanted, other] = [await post(`wanted-${path}`.replaceAll('/', '')), await post(`other${counter}`)]
    const { json } = await register({ discussionIds: [wanted] })
    expect(json.discussionIds).toEqual([wanted])
    await whenVerified(json.id)
    await post(`other${counter}`)
    await post(`wanted-${path}`.replaceAll('/', ''))
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    const { queued } = await service.ok('POST', `/webhooks/${json.id}/replay`, { from: new Date(Date.now() - 60_000) })
    expect(queued).toBe(1)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(2))
    expect(receiver.deliveries(path).map(({ body }) => body.discussionId)).toEqual([wanted, wanted])
    expect((await change(json.id, { discussionIds: null })).json.discussionIds).toBeNull()
    await post(`other${counter}`)
    await vi.waitFor(() => expect(receiver.deliveries(path).at(-1)?.body.discussionId).toBe(other))
    const rows = unnamed('SELECT 1 FROM deliveries WHERE endpoint_id = $1 AND discussion_id = $2')
    expect(await service.app.db.query(rows, [json.id, other])).toHaveLength(1)
  })

  test.each([[[]], [['x']], [Array.from({ length: 101 }, () => newId())]])(
    'are refused as %j',
    async (discussionIds) => {
      expect((await register({ discussionIds })).status).toBe(422)
    },
  )

  test('must exist: 404, and nothing is registered', async () => {
    const before = (await service.call('GET', '/webhooks?limit=100')).json.data.length
    expect((await register({ discussionIds: [newId()] })).json).toMatchObject({ status: 404, code: 'not_found' })
    expect((await service.call('GET', '/webhooks?limit=100')).json.data).toHaveLength(before)
  })
})
