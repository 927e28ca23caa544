import { beforeEach } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { callsTo } from './calls.ts'
import { type Json, type TestTenant, useService } from './service.ts'

export type { Json }

interface Comment {
  as?: string
  page?: string
  parentId?: string | null
}

/** The service of a file, and for each test a tenant of its own, whose key is in all requests. */
export function useTenants(options?: Parameters<typeof useService>[0]) {
  const world = { service: useService(options), tenant: {} as TestTenant }
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
