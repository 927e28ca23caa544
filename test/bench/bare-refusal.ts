// Bare Node that reads a request and refuses it. The reference of the bench of guests.
import { createServer } from 'node:http'

const BODY = JSON.stringify({ title: 'Forbidden', status: 403 })

createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(403, { 'content-type': 'application/problem+json' }).end(BODY)
  })
}).listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.({ ready: true }))
