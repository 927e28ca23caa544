import { afterAll, beforeAll, beforeEach } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from './calls.ts'
import { startService, type TestResponse, type TestService, type TestTenant } from './service.ts'

export type Json = TestResponse['json']

interface Comment {
  as?: string
  page?: string
  parentId?: string | null
}

/** The service of a file, and for each test a tenant of its own, whose key is in all requests. */
export function useTenants(options: Parameters<typeof startService>[0] = { worker: false }) {
  const world = {} as { service: TestService; tenant: TestTenant }
  beforeAll(async () => {
    world.service = await startService(options)
  })
  afterAll(() => world.service.close())
  beforeEach(async () => {
    world.tenant = await world.service.addTenant(`t-${newId()}`)
  })
  const calls = callsTo(
    () => world.service,
    () => ({ 'x-api-key': world.tenant.apiKey }),
  )
  const post = async (body = 'text', { as = 'ada', page = 'page', parentId = null }: Comment = {}): Promise<Json> =>
    calls.ok('POST', `/discussions/by-external/${page}/comments`, { body, parentId }, await world.tenant.as(as))
  return Object.assign(world, calls, { post })
}
