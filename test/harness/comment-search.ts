import { expect } from 'vitest'

import type { Headers, Json, TestService, TestTenant } from './service.ts'

type Filter = Record<string, string | number | undefined>

export const keyOf = (tenant: TestTenant): Headers => ({ 'x-api-key': tenant.apiKey })

export const queryOf = (filter: Filter): string =>
  new URLSearchParams(
    Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ).toString()

export const post = async (
  service: TestService,
  tenant: TestTenant,
  body: string,
  { page = 'page', reader = 'ann' } = {},
): Promise<Json> =>
  service.ok(
    'POST',
    `/discussions/by-external/${page}/comments`,
    { body },
    { ...keyOf(tenant), ...(await tenant.as(reader)) },
  )

export const page = (service: TestService, tenant: TestTenant, filter: Filter = {}): Promise<Json> =>
  service.ok('GET', `/comments?${queryOf(filter)}`, undefined, keyOf(tenant))

/** All that a search finds, page by page. */
export async function found(service: TestService, tenant: TestTenant, filter: Filter = {}): Promise<Json[]> {
  const all: Json[] = []
  for (let cursor: string | undefined; ;) {
    const { data, hasMore, nextCursor } = await page(service, tenant, { ...filter, cursor })
    all.push(...data)
    expect(hasMore).toBe(nextCursor !== null)
    if (!hasMore) return all
    cursor = nextCursor
  }
}
