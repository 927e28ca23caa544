import { expect } from 'vitest'

import type { TestResponse, TestService, TestTenant } from './service.ts'

type Headers = Record<string, string>
type Json = TestResponse['json']
type Filter = Record<string, string | number | undefined>

export const keyOf = (tenant: TestTenant): Headers => ({ 'x-api-key': tenant.apiKey })

export const queryOf = (filter: Filter): string =>
  new URLSearchParams(
    Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ).toString()

export async function ok(
  service: TestService,
  method: string,
  path: string,
  headers: Headers,
  body?: object,
): Promise<Json> {
  const answer = await service.call(method, path, { headers, ...(body === undefined ? {} : { body }) })
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.status === 204 ? null : answer.json
}

export const post = async (
  service: TestService,
  tenant: TestTenant,
  body: string,
  { page = 'page', reader = 'ann' } = {},
): Promise<Json> =>
  ok(
    service,
    'POST',
    `/discussions/by-external/${page}/comments`,
    { ...keyOf(tenant), ...(await tenant.as(reader)) },
    { body },
  )

export const page = (service: TestService, tenant: TestTenant, filter: Filter = {}): Promise<Json> =>
  ok(service, 'GET', `/comments?${queryOf(filter)}`, keyOf(tenant))

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
