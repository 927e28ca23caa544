import { afterEach, expect, vi } from 'vitest'

import type { TestService } from './service.ts'
import { openStream, type StreamClient } from './stream-client.ts'

/** Opens streams of a service, and closes them after each test. */
export function useStreams(service: Pick<TestService, 'url' | 'apiKey'>) {
  const clients: StreamClient[] = []
  afterEach(() => clients.splice(0).forEach((client) => client.close()))

  /** `at` is the id of a discussion, also with parameters, or a whole address. */
  async function open(at: string, headers: Record<string, string> = { 'x-api-key': service.apiKey }) {
    const client = await openStream(new URL(at, `${service.url}/api/v1/stream/`).href, headers)
    clients.push(client)
    return client
  }

  return { open }
}

/** The answer of a stream is a problem, and not a stream. */
export async function expectProblem(client: StreamClient, status: number, code: string): Promise<void> {
  await vi.waitFor(() => expect(client.closed).toBe(true))
  expect(client.headers['content-type']).toMatch(/^application\/problem\+json/)
  expect(JSON.parse(client.text)).toMatchObject({ status, code })
  expect(client.status).toBe(status)
}
