import { describe, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

const DISABLE = `UPDATE webhook_endpoints SET state = 'disabled' WHERE id = $1`

describe('the budget webhookEndpoints', () => {
  async function tenantWith(webhookEndpoints: number) {
    const { apiKey } = await service.addTenant(`budget-${newId()}`)
    const headers = { 'x-api-key': apiKey }
    const body = { url: 'https://127.0.0.1:9/' }
    const set = (n: number) => service.call('PATCH', '/settings', { headers, body: { webhookEndpoints: n } })
    await set(webhookEndpoints)
    return {
      headers,
      set,
      register: () => service.call('POST', '/webhooks', { headers, body }),
      registerByGraphql: async () => {
        const mutation = `mutation($input: CreateWebhookEndpointInput!) {
          createWebhookEndpoint(input: $input) { webhookEndpoint { id } } }`
        const { json } = await service.graphql(mutation, { input: body }, headers)
        const [error] = json.errors ?? []
        return error === undefined ? 'created' : `${error.extensions.status} ${error.extensions.code}`
      },
    }
  }

  test('is 25 unless set, and 1 to 1 000', async () => {
    const { json } = await service.call('GET', '/settings', {
      headers: { 'x-api-key': (await service.addTenant('budget-default')).apiKey },
    })
    expect(json.webhookEndpoints).toBe(25)
    const tenant = await tenantWith(2)
    for (const n of [0, 1001]) {
      expect((await tenant.set(n)).json.errors).toMatchObject([{ pointer: '/webhookEndpoints' }])
    }
  })

  test('of many concurrent registrations, by REST and GraphQL, at most that many succeed: 409 endpoint_budget_exhausted', async () => {
    const tenant = await tenantWith(4)
    const byRest = async () => {
      const { status, json } = await tenant.register()
      return status === 201 ? 'created' : `${status} ${json.code}`
    }
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, n) => (n % 2 === 0 ? byRest() : tenant.registerByGraphql())),
    )
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(4)
    expect(new Set(outcomes)).toEqual(new Set(['created', '409 endpoint_budget_exhausted']))
  })

  test('a disabled endpoint counts, a deleted one does not; a lower budget deletes none', async () => {
    const tenant = await tenantWith(2)
    const [one, two] = [(await tenant.register()).json.id, (await tenant.register()).json.id]
    await service.app.db.query(unnamed(DISABLE), [one])
    expect((await tenant.register()).json).toMatchObject({ status: 409, code: 'endpoint_budget_exhausted' })
    const { headers } = tenant
    await service.call('DELETE', `/webhooks/${two}`, { headers })
    expect((await tenant.register()).status).toBe(201)
    await tenant.set(1)
    expect((await service.call('GET', '/webhooks', { headers })).json.data).toHaveLength(2)
    expect((await tenant.register()).status).toBe(409)
  })
})
