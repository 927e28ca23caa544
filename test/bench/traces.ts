import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { signIdentity } from '../harness/identity.ts'
import { compare, print } from './api.ts'
import { fillDiscussions } from './fill.ts'
import { httpRequest } from './load.ts'
import { startBenchService } from './service.ts'

const SHARE = '0.01'
const READERS = 50

/**
 * The cost of traces: the same requests to a process without them, to another one without them,
 * which shows the noise, and to one that traces 1 %.
 */
export async function benchTraces(): Promise<void> {
  const open: { close(): Promise<void> }[] = []
  const opened = <T extends { close(): Promise<void> }>(process: T): T => (open.unshift(process), process)
  try {
    const sink = createServer((request, response) => void request.resume().on('end', () => response.end()))
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
    opened({ close: async () => void sink.close() })
    const traced = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(sink.address() as AddressInfo).port}`,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    }
    const off = opened(await startBenchService())
    const sides = {
      off,
      'off again': opened(await startBenchService({}, off)),
      'on, 1 %': opened(await startBenchService({ ...traced, OTEL_TRACES_SAMPLER_ARG: SHARE }, off)),
    }
    const filled = await fillDiscussions(off.databaseUrl, { discussions: 100, comments: 40, readers: READERS })
    const headers = { 'X-API-Key': off.apiKey }
    const pages = filled.discussionIds.map((id) => httpRequest('GET', `/api/v1/discussions/${id}/comments`, headers))
    const identities = await Promise.all(
      filled.readers.slice(0, READERS).map(({ externalId }) => signIdentity(off.signer, { sub: externalId })),
    )
    const posts = filled.discussionIds.map((id, n) =>
      httpRequest(
        'POST',
        `/api/v1/discussions/${id}/comments`,
        {
          ...headers,
          'X-Service-Identity': identities[n % identities.length] ?? '',
          'Content-Type': 'application/json',
        },
        `{"body":"A comment of the bench ${n}"}`,
      ),
    )
    for (const [title, requests] of Object.entries({ 'cached pages': pages, 'posted comments': posts })) {
      const asked = Object.entries(sides).map(([name, process]) => [name, { process, requests }] as const)
      const figures = await compare(Object.fromEntries(asked), { roundCount: 8, seconds: 1.5 })
      const compared = Object.keys(sides).flatMap((name) => (name === 'off' ? [] : [[name, ['off', null]] as const]))
      print(`traces: ${title}`, figures, Object.fromEntries(compared))
    }
  } finally {
    for (const process of open) await process.close()
  }
}
