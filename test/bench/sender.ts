// The bare loop that deliveries are compared with: got, keep-alive, each request signed.
import { createHmac } from 'node:crypto'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'

import { got } from 'got'

export interface SendOrder {
  urls: string[]
  ca: string
  body: string
  headers: Record<string, string>
  secret: string
  concurrency: number
  count: number
}

const options = { keepAlive: true, scheduling: 'lifo', maxFreeSockets: 1024 } as const
const http = new HttpAgent(options)
let https: HttpsAgent | undefined

process.on('message', (order: SendOrder) => {
  void send(order).then(() => process.send?.({ done: true }))
})

async function send({ urls, ca, body, headers, secret, concurrency, count }: SendOrder): Promise<void> {
  https ??= new HttpsAgent({ ...options, ca })
  const client = got.extend({
    agent: { http, https },
    followRedirect: false,
    retry: { limit: 0 },
    throwHttpErrors: false,
    timeout: { request: 10_000 },
  })
  let n = 0
  const loop = async (): Promise<void> => {
    while (n < count) {
      const url = urls[n++ % urls.length] ?? ''
      const at = new Date()
      const v1 = createHmac('sha256', secret).update(`${at.toISOString()}.`).update(body).digest('hex')
      const signature = `t=${Math.floor(at.getTime() / 1000)},v1=${v1},kid=01234567`
      const signed = { ...headers, 'X-Service-Timestamp': at.toISOString(), 'X-Service-Signature': signature }
      const { statusCode } = await client.post(url, { body, headers: signed })
      if (statusCode !== 204) throw new Error(`status ${statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
}

process.send?.({ ready: true })
