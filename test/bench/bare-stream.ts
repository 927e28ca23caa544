// Bare Node as an event stream: every posted body is written to every open response. The reference
// of the stream benches.
import { createServer, type ServerResponse } from 'node:http'

const open = new Set<ServerResponse>()

createServer((request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(':\n\n')
    open.add(response)
    response.on('close', () => open.delete(response))
    return
  }
  const parts: Buffer[] = []
  request
    .on('data', (part: Buffer) => parts.push(part))
    .on('end', () => {
      const event = Buffer.concat(parts)
      for (const one of open) one.write(event)
      response.end()
    })
}).listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.({ ready: true }))
