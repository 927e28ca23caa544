// The main job of the service, as the backend of a publisher sees it: `npm run demo`. It needs no
// database server, no Redis and no network, and fails where anything is lost, doubled, out of order
// or unsigned.
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { type Backend, createBackend } from './backend.ts'
import { type Network, startNetwork } from './network.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { hasSeen, isDelivered, type Part, report } from './report.ts'
import { startService } from './service.ts'
import { ANN, ARTICLE, conversation, type Step } from './story.ts'
import { describe, listen } from './stream.ts'

const WAIT_MS = 15_000

const say = (text: string): void => console.log(text)
const chapter = (title: string): void => say(`\n■ ${title}`)

/** Waits for a condition; throws where it does not come true in time. */
async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const late = performance.now() + WAIT_MS
  while (!(await isSo())) {
    if (performance.now() > late) throw new Error(`waited ${WAIT_MS / 1000} s in vain: ${what}`)
    await sleep(10)
  }
}

/** Plays it all. Returns whether everything was as it must be. */
async function demo(): Promise<boolean> {
  const closing: (() => unknown)[] = []
  try {
    chapter('A publisher starts its webhook receiver (HTTPS, a CA of its own) and the service')
    const receiver = await startReceiver((event) => say(`    webhook       ${describe(event)}`))
    closing.unshift(() => receiver.close())
    const service = await startService({ caFile: receiver.caFile })
    closing.unshift(() => service.stop())
    say(`  The service is ready at ${service.url}, on an empty embedded database`)
    const backend = createBackend(service)
    await register(backend, receiver)

    chapter('Ann opens an article: the backend mints a ticket, her browser opens the stream with it')
    const ticket = await backend.ticket(ARTICLE, ANN)
    const network = await startNetwork(Number(new URL(service.url).port))
    closing.unshift(() => network.close())
    const streamUrl = new URL(ticket.streamUrl)
    streamUrl.port = String(network.port)
    const ann = listen(streamUrl.href, (event) => say(`    Ann's stream  ${describe(event)}`))
    closing.unshift(() => ann.close())
    // The yardstick: the publisher's own stream, which sees everything and is never cut.
    const all = listen(`${service.url}/api/v1/stream/${ticket.discussionId}`, () => undefined, service.apiKey)
    closing.unshift(() => all.close())
    await until('both streams are open', () => ann.connections.length === 1 && all.connections.length === 1)
    say(`  Connected at event ${ticket.lastEventId}`)

    const part: Part = { ann, all, receiver }
    await talk(backend, part, network)
    return report(part, say)
  } finally {
    for (const close of closing) await close()
  }
}

/** Registers the receiver and waits for the ownership handshake. */
async function register(backend: Backend, { url, counts, trust }: Receiver): Promise<void> {
  const made = z.object({ id: z.string(), kid: z.string(), secret: z.string() })
  const { id, kid, secret } = await backend.post('/webhooks', made, { url, eventTypes: ['*'] })
  say(`  Registered ${url}: unverified, its signing secret has the kid ${kid}`)
  trust({ kid, secret })
  await until('the endpoint is verified', async () => {
    const { state } = await backend.get(`/webhooks/${id}`, z.object({ state: z.string() }))
    return state === 'verified'
  })
  say(`  The service sent a signed challenge, the receiver echoed it: verified (${counts.handshakes} handshake)`)
}

/** The conversation: while Ann listens, while she is cut off, and after. */
async function talk(backend: Backend, part: Part, network: Network): Promise<void> {
  const { listening, away, back } = conversation(backend)
  const play = async (steps: readonly Step[], isDone: (seq: number) => boolean): Promise<void> => {
    for (const step of steps) {
      await step()
      const seq = await backend.position(ARTICLE)
      await until(`event ${seq} is where it belongs`, () => isDone(seq))
    }
  }
  const isEverywhere = (seq: number): boolean => hasSeen(part, seq) && isDelivered(part, seq)

  chapter('Three readers talk, and Ann watches it live')
  await play(listening, isEverywhere)

  chapter("Ann's train enters a tunnel: her connection breaks in mid-stream, and the others go on")
  network.cut()
  const before = part.ann.events.length
  await play(away, (seq) => isDelivered(part, seq))
  if (part.ann.events.length !== before) throw new Error('the cut connection still carried events')

  chapter('The tunnel ends: her EventSource reconnects by itself, with Last-Event-ID')
  network.mend()
  const seq = await backend.position(ARTICLE)
  await until('she has reconnected and caught up', () => part.ann.connections.length === 2 && hasSeen(part, seq))
  say(`  Reconnected: the service replayed ${part.ann.connections[1]?.replayed} events that she had missed`)

  chapter('And on it goes, live')
  await play(back, isEverywhere)
}

const began = performance.now()
const isRight = await demo().catch((error: unknown) => {
  say(`\n✘ ${error instanceof Error ? error.message : String(error)}`)
  return false
})
say(
  `\n${isRight ? '✔ Everything is as it must be' : '✘ Something is not as it must be'} (${((performance.now() - began) / 1000).toFixed(1)} s)`,
)
process.exitCode = isRight ? 0 : 1
