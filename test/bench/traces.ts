import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { fillDiscussions } from './fill.ts'
import { printTurns } from './figures.ts'
import { compare } from './measure.ts'
import { pageRequests, postRequests } from './requests.ts'
import { closing } from './scripts.ts'
import { startBenchService } from './service.ts'
import { sized } from './size.ts'

const SHARE = '0.01'

/**
 * The cost of traces: the same requests to a process without them, to another one without them,
 * which shows the noise, and to one that traces 1 %.
 */
export const benchTraces = (): Promise<void> =>
  closing(async (opened) => {
    const sink = createServer((request, response) => void request.resume().on('end', () => response.end()))
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
    opened({ close: () => void sink.close() })
    const traced = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(sink.address() as AddressInfo).port}`,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    }
    const off = opened(await startBenchService())
    const processes = {
      off,
      'off again': opened(await startBenchService({}, off)),
      'on, 1 %': opened(await startBenchService({ ...traced, OTEL_TRACES_SAMPLER_ARG: SHARE }, off)),
    }
    const size = { discussions: sized(100, 10), comments: 40, readers: sized(50, 10) }
    const { discussionIds, readers } = await fillDiscussions(off, size)
    const posts = await postRequests(off, {
      paths: discussionIds.map((id) => `/api/v1/discussions/${id}/comments`),
      count: size.discussions,
      subs: readers.map(({ externalId }) => externalId),
    })
    const asked = { 'cached pages': pageRequests(discussionIds, { 'X-API-Key': off.apiKey }), 'posted comments': posts }
    for (const [title, requests] of Object.entries(asked)) {
      const sides = Object.entries(processes).map(([name, process]) => [name, { process, requests }] as const)
      const how = { connections: 16, rounds: 8, seconds: 1.5 }
      printTurns(`traces: ${title}`, await compare(Object.fromEntries(sides), how))
    }
  })
