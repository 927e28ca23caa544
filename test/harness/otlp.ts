import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { z } from 'zod'

const valueSchema = z.record(z.string(), z.unknown())
const attributesSchema = z.array(z.object({ key: z.string(), value: valueSchema })).default([])
const spanSchema = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(''),
  name: z.string(),
  kind: z.number(),
  attributes: attributesSchema,
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.object({ code: z.number().default(0) }).default({ code: 0 }),
})
const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
})

/** A span as OTLP's JSON has it, with its attributes and those of its resource by name. */
export interface ExportedSpan extends Omit<z.infer<typeof spanSchema>, 'attributes'> {
  attributes: Record<string, unknown>
  resource: Record<string, unknown>
}

export interface Collector {
  url: string
  spans: ExportedSpan[]
  close(): Promise<void>
}

const byName = (attributes: z.infer<typeof attributesSchema>): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

/** A collector of traces: OTLP over HTTP, as JSON. It knows nothing of the service's code. */
export async function startCollector(port = 0): Promise<Collector> {
  const spans: ExportedSpan[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url !== '/v1/traces') return response.writeHead(404).end()
      for (const { resource, scopeSpans } of exportSchema.parse(JSON.parse(Buffer.concat(chunks).toString()))
        .resourceSpans) {
        for (const { attributes, ...span } of scopeSpans.flatMap((scope) => scope.spans)) {
          spans.push({ ...span, attributes: byName(attributes), resource: byName(resource.attributes) })
        }
      }
      return response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
