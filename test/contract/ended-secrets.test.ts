import { beforeEach, describe, expect, test, vi } from 'vitest'

import { addDelivery } from '../harness/outbox.ts'
import { signIdentity } from '../harness/identity.ts'
import { isGenuine, reply } from '../harness/receiver.ts'
import type { TestTenant } from '../harness/service.ts'
import { useReceiver } from '../harness/webhooks.ts'

const { receiver, service } = useReceiver()
let tenant: TestTenant
let path: string
let count = 0

beforeEach(async () => {
  tenant = await service.addTenant(`ended-${++count}`)
  path = `/hook-${count}`
})

const call = (method: string, route: string, body?: object, headers: Record<string, string> = {}) =>
  service.call(method, route, { headers: { 'x-api-key': tenant.apiKey, ...headers }, ...(body && { body }) })

const actionsOf = async (targetId: string) =>
  (await call('GET', '/audit-log')).json.data
    .filter((entry: { targetId: string }) => entry.targetId === targetId)
    .map(({ action }: { action: string }) => action)

/** As each kind of secret is ended: again it is 204, and audited once. */
async function expectEnded(route: string, auditId: string, action: string): Promise<void> {
  expect((await call('DELETE', route)).status).toBe(204)
  expect((await call('DELETE', route)).status).toBe(204)
  expect((await actionsOf(auditId)).filter((each: string) => each === action)).toEqual([action])
}

describe('DELETE /identity-secrets/{kid}', () => {
  const meBy = async ({ secret }: { secret: string }) => {
    const identity = await signIdentity({ tenant: tenant.tenant.slug, secret }, { sub: 'ann', name: 'Ann' })
    return call('GET', '/readers/me', undefined, { 'x-service-identity': identity })
  }

  test('ends the old secret at once, and leaves the new one', async () => {
    const old = tenant.identitySecret
    const { json: made } = await call('POST', '/identity-secrets')
    expect((await meBy(old)).status).toBe(200)
    await expectEnded(`/identity-secrets/${old.kid}`, old.kid, 'identity_secret.revoke')
    expect((await meBy(old)).json).toMatchObject({ status: 401, code: 'invalid_identity' })
    expect((await meBy(made)).status).toBe(200)
    const { data } = (await call('GET', '/identity-secrets')).json
    expect(data.map(({ kid }: { kid: string }) => kid)).toEqual([made.kid, old.kid])
    expect(Date.parse(data[1].expiresAt)).toBeLessThanOrEqual(Date.now())
  })

  test('ends the last one too: no reader is identified until there is another', async () => {
    const only = tenant.identitySecret
    expect((await meBy(only)).status).toBe(200)
    await expectEnded(`/identity-secrets/${only.kid}`, only.kid, 'identity_secret.revoke')
    expect((await meBy(only)).status).toBe(401)
    expect((await meBy((await call('POST', '/identity-secrets')).json)).status).toBe(200)
    expect((await meBy(only)).status).toBe(401)
  })

  test('of an unknown or malformed kid is 404', async () => {
    for (const kid of ['00000000', 'x', '%00', tenant.identitySecret.kid.toUpperCase() + 'A'])
      expect((await call('DELETE', `/identity-secrets/${kid}`)).json.code).toBe('not_found')
  })
})

describe('DELETE /classifier-secrets/{kid}', () => {
  test('ends one at once; without any the classifier is not asked, and the fallback decides', async () => {
    receiver.on(path, (_request, response) => reply(response, 200, JSON.stringify({ verdict: 'hold' })))
    await call('PATCH', '/settings', { classifier: { url: receiver.url + path, fallback: 'approve' } })
    const [old, made] = [
      (await call('POST', '/classifier-secrets')).json,
      (await call('POST', '/classifier-secrets')).json,
    ]
    const post = async () => {
      const headers = await tenant.as('ann')
      const { json } = await call(
        'POST',
        '/discussions/by-external/page/comments',
        { body: `Hello ${Math.random()}` },
        headers,
      )
      return json.id
    }
    await post()
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    expect(isGenuine(receiver.deliveries(path)[0]!, { [old.kid]: old.secret }, 'signature-previous')).toBe(true)
    await expectEnded(`/classifier-secrets/${old.kid}`, old.kid, 'classifier_secret.revoke')
    await post()
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(2))
    expect(isGenuine(receiver.deliveries(path)[1]!, { [made.kid]: made.secret })).toBe(true)
    expect(receiver.deliveries(path)[1]?.headers).not.toHaveProperty('x-service-signature-previous')
    await expectEnded(`/classifier-secrets/${made.kid}`, made.kid, 'classifier_secret.revoke')
    const id = await post()
    await vi.waitFor(async () => expect((await call('GET', `/comments/${id}`)).json.status).toBe('approved'))
    expect(receiver.deliveries(path)).toHaveLength(2)
    const listed = (await call('GET', '/classifier-secrets')).json.data
    expect(listed.map(({ kid }: { kid: string }) => kid)).toEqual([made.kid, old.kid])
    expect(JSON.stringify(listed)).not.toContain('whs_')
  })
})

describe('DELETE /webhooks/{id}/secrets/{kid}', () => {
  const read = async (id: string) => (await call('GET', `/webhooks/${id}`)).json

  async function registerVerified() {
    const { json } = await call('POST', '/webhooks', { url: receiver.url + path, policy: { backoffBaseMs: 10 } })
    await vi.waitFor(async () => expect((await read(json.id)).state).toBe('verified'))
    return json
  }

  const deliver = async (id: string, nth: number) => {
    await addDelivery(service.app, tenant.tenant.id, id)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(nth))
    return receiver.deliveries(path)[nth - 1]!
  }

  test('ends the old secret: it signs no further delivery', async () => {
    const { id, kid, secret } = await registerVerified()
    const { json: made } = await call('POST', `/webhooks/${id}/rotate-secret`)
    expect(isGenuine(await deliver(id, 1), { [kid]: secret }, 'signature-previous')).toBe(true)
    await expectEnded(`/webhooks/${id}/secrets/${kid}`, id, 'webhook.revoke_secret')
    expect((await read(id)).secrets.map((each: { kid: string }) => each.kid)).toEqual([made.kid])
    const request = await deliver(id, 2)
    expect(request.headers).not.toHaveProperty('x-service-signature-previous')
    expect(isGenuine(request, { [made.kid]: made.secret })).toBe(true)
    // The old one is no rotation under way any more.
    expect((await call('POST', `/webhooks/${id}/rotate-secret`)).status).toBe(200)
    expect((await call('DELETE', `/webhooks/${id}/secrets/${kid}`)).status).toBe(204)
  })

  test('ends the new secret: the one before signs until its own end, also beside a newer one', async () => {
    const { id, kid, secret } = await registerVerified()
    const { json: leaked } = await call('POST', `/webhooks/${id}/rotate-secret`)
    await expectEnded(`/webhooks/${id}/secrets/${leaked.kid}`, id, 'webhook.revoke_secret')
    expect(isGenuine(await deliver(id, 1), { [kid]: secret })).toBe(true)
    const { status, json: next } = await call('POST', `/webhooks/${id}/rotate-secret`)
    expect(status).toBe(200)
    const request = await deliver(id, 2)
    expect(isGenuine(request, { [next.kid]: next.secret })).toBe(true)
    expect(isGenuine(request, { [kid]: secret }, 'signature-previous')).toBe(true)
  })

  test('ends the last one: deliveries wait, use up no attempt, and go out signed with the next', async () => {
    const { id, kid } = await registerVerified()
    await expectEnded(`/webhooks/${id}/secrets/${kid}`, id, 'webhook.revoke_secret')
    expect(await read(id)).toMatchObject({ state: 'verified', secrets: [], consecutiveFailures: 0 })
    const { deliveryId } = await addDelivery(service.app, tenant.tenant.id, id)
    // Another endpoint shows that workers have looked meanwhile.
    const other = (await call('POST', '/webhooks', { url: `${receiver.url}${path}-other` })).json
    await vi.waitFor(async () => expect((await read(other.id)).state).toBe('verified'))
    await addDelivery(service.app, tenant.tenant.id, other.id)
    await vi.waitFor(() => expect(receiver.deliveries(`${path}-other`)).toHaveLength(1))
    const waiting = (await call('GET', `/webhooks/${id}/deliveries/${deliveryId}`)).json
    expect(waiting).toMatchObject({ status: 'pending', attempts: [] })
    expect((await call('POST', `/webhooks/${id}/verify`)).status).toBe(202)
    await vi.waitFor(async () => expect((await read(id)).lastVerification.error).toContain('no signing secret'))
    const { json: next } = await call('POST', `/webhooks/${id}/rotate-secret`)
    expect((await call('POST', `/webhooks/${id}/verify`)).status).toBe(202)
    await vi.waitFor(() => expect(receiver.deliveries(path)).toHaveLength(1))
    expect(isGenuine(receiver.deliveries(path)[0]!, { [next.kid]: next.secret })).toBe(true)
  })
})
