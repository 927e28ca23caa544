import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'

import fc from 'fast-check'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import { type Bus, CHANNELS } from '../../src/core/bus.ts'
import { type Audience, encodeNews, type News } from '../../src/core/events.ts'
import { newId } from '../../src/core/ids.ts'
import { Hub } from '../../src/live/hub.ts'
import { joinSeveral } from '../../src/live/join-several.ts'
import { ConnectionOfSeveral } from '../../src/live/connection-of-several.ts'
import { Cursors, inCursorOrder } from '../../src/live/streams/cursor.ts'
import { isVisible, type StreamViewer } from '../../src/live/viewer.ts'
import { effort } from '../harness/effort.ts'
import { SILENT } from '../harness/log.ts'
import { randomOf } from '../harness/random.ts'
import { openStream, type Received, type StreamClient } from '../harness/stream-client.ts'

const TENANT = newId()
const READER = newId()
const WINDOW = { replayHours: 24, replayEvents: 10_000 }

/** The log that all processes share. */
type Log = Map<string, News[]>

const turns = async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await setImmediate()
}

interface Weather {
  chance: () => number
  lose: number
  fail: number
  /** While true, the bus delivers nothing, as without Redis. */
  isBusDown: boolean
}

interface Process {
  hub: Hub
  hear: (channel: string, message: string) => void
  /** Of its streams; they break when it is killed. */
  responses: Set<ServerResponse>
}

/**
 * A hub over the log, as one process has it, with a bus that loses, doubles and delays messages.
 */
function startProcess(log: Log, weather: Weather): Process {
  const { chance } = weather
  const listeners = new Map<string, Set<(message: string) => void>>()
  const hear = (channel: string, message: string): void => {
    const times = weather.isBusDown || chance() < weather.lose ? 0 : chance() < 0.2 ? 2 : 1
    for (let n = 0; n < times; n++) {
      const late = chance() < 0.3 ? setTimeout(chance() * 40) : turns(Math.floor(chance() * 8))
      void late.then(() => listeners.get(channel)?.forEach((listener) => listener(message)))
    }
  }
  const bus: Bus = {
    publish: () => undefined,
    subscribe: async (channel, listener) => {
      await turns(Math.floor(chance() * 3))
      const set = listeners.get(channel) ?? new Set()
      listeners.set(channel, set.add(listener))
      return () => set.delete(listener)
    },
    onGap: () => () => undefined,
    isUp: () => !weather.isBusDown,
    close: () => Promise.resolve(),
  }
  const answer = async <T>(read: () => T): Promise<T> => {
    await turns(Math.floor(chance() * 4))
    if (chance() < weather.fail) throw new Error('the database is away')
    const result = read()
    await turns(Math.floor(chance() * 4))
    return result
  }
  const eventsOf = ({ discussionId }: { discussionId: string }): News[] => log.get(discussionId) ?? []
  const hub = new Hub({
    bus,
    events: {
      heads: (keys) =>
        answer(() =>
          keys.flatMap((key) => (log.has(key.discussionId) ? { ...key, seq: eventsOf(key).length, scrubs: 0 } : [])),
        ),
      events: (key, { after, upTo }, viewer, limit) =>
        answer(() =>
          eventsOf(key)
            .slice(after, upTo)
            .filter((event) => viewer === null || isVisible(event, viewer))
            .slice(0, limit),
        ),
      missed: (key, { after, upTo }, viewer) =>
        answer(() => {
          const visible = eventsOf(key)
            .slice(after, upTo)
            .filter((event) => isVisible(event, viewer))
          return { visible: visible.length, firstAt: visible.length > 0 ? new Date() : null, isWhole: true }
        }),
    },
    live: () => Promise.resolve([]),
    log: SILENT,
    registry: new Registry(),
    repairMs: 20,
    pause: { ms: 5, count: () => undefined },
  })
  return { hub, hear, responses: new Set() }
}

let server: Server
let onRequest: (response: ServerResponse, url: URL, lastEventId: string | null) => Promise<void>
let base = ''

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x')
    const last = request.headers['last-event-id']
    void onRequest(response, url, typeof last === 'string' ? last : null)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const hubs: Hub[] = []
afterEach(async () => {
  await Promise.all(hubs.splice(0).map((hub) => hub.close({ graceMs: 0 })))
})

/** A page that leaves whenever it likes, and resumes after the last id that it has read. */
interface Reader {
  cursors: Cursors
  viewer: StreamViewer
  isGzip: boolean
  from: readonly number[]
  read: Received[]
  client: StreamClient | null
}

const placesOf = (read: readonly Received[], discussionId: string): number[] =>
  read.flatMap(({ data }) => (data.discussionId === discussionId ? [data.seq as number] : []))

test('whatever is lost, stopped or killed, each reader gets the events of each of its discussions once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.constantFrom(0, 0.3, 1), fc.constantFrom(0, 0.1), async (seed, lose, fail) => {
      const chance = randomOf(seed)
      const weather: Weather = { chance, lose, fail, isBusDown: false }
      const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T
      const log: Log = new Map(Array.from({ length: 6 }, () => [newId(), []]))
      const all = [...log.keys()]
      const start = (): Process => {
        const started = startProcess(log, weather)
        hubs.push(started.hub)
        return started
      }
      const processes = [start(), start()]
      onRequest = async (response, url, lastEventId) => {
        const reader = readers[Number(url.searchParams.get('reader'))] as Reader
        const { hub, responses } = processes[Number(url.searchParams.get('process'))] as Process
        responses.add(response)
        const stream = new ConnectionOfSeveral(response, {
          tenantId: TENANT,
          credential: null,
          endsAt: Infinity,
          heartbeatMs: 10_000,
          isGzip: reader.isGzip,
          onCut: () => undefined,
          cursors: reader.cursors,
        })
        try {
          const { cursors, viewer } = reader
          const beginning = await joinSeveral(hub, stream, { cursors, viewer, lastEventId, window: WINDOW })
          if (hub === processes[0]?.hub || hub === processes[1]?.hub) stream.open(beginning, {}, undefined)
          else response.destroy()
        } catch {
          stream.abandon()
          response.destroy()
        }
      }
      const readers = Array.from({ length: 4 }, (_, n): Reader => {
        const ids = inCursorOrder(all.filter(() => chance() < 0.6))
        const cursors = new Cursors(ids.length === 0 ? inCursorOrder(all) : ids)
        const viewer: StreamViewer = { kind: 'public', readerId: n % 2 === 0 ? READER : null }
        return { cursors, viewer, isGzip: n < 2, from: cursors.ids.map(() => 0), read: [], client: null }
      })
      const leave = (reader: Reader): void => {
        if (reader.client === null) return
        // All that has arrived by now counts as read.
        reader.client.close()
        reader.read.push(...reader.client.events)
        reader.client = null
      }
      const visit = async (reader: Reader): Promise<void> => {
        leave(reader)
        const position = reader.read.at(-1)?.id ?? reader.cursors.encode(reader.from)
        const path = `/?reader=${readers.indexOf(reader)}&process=${chance() < 0.5 ? 0 : 1}`
        const headers = { 'last-event-id': position, ...(reader.isGzip && { 'accept-encoding': 'gzip' }) }
        reader.client = await openStream(base + path, headers).catch(() => null)
        const { client } = reader
        if (client === null || chance() < 0.3) return
        await vi.waitFor(() => expect(client.closed || client.connected !== undefined).toBe(true), { interval: 5 })
        if (client.connected !== undefined)
          expect(client.connected.data).toMatchObject({ complete: true, gone: [], lastEventId: position })
      }
      for (let step = 0; step < 120; step++) {
        const dice = chance()
        if (dice < 0.65) {
          const discussionId = pick(all)
          const events = log.get(discussionId) ?? []
          const seq = events.length + 1
          const audience = pick<Audience>(['public', 'public', 'tenant', 'recipient'])
          const news: News = {
            seq,
            type: 'comment_created',
            audience,
            recipientId: audience === 'recipient' ? READER : null,
            json: JSON.stringify({ discussionId, seq, data: { text: 'x'.repeat(chance() * 400) } }),
          }
          events.push(news)
          const channel = CHANNELS.discussion({ tenantId: TENANT, discussionId })
          for (const { hear } of processes) hear(channel, encodeNews([news]))
        } else if (dice < 0.75) await visit(pick(readers))
        else if (dice < 0.8) leave(pick(readers))
        else if (dice < 0.83) weather.isBusDown = !weather.isBusDown
        else if (dice < 0.85) {
          // A process is killed: its streams break, and another takes its place.
          const n = chance() < 0.5 ? 0 : 1
          const [killed] = processes.splice(n, 1, start())
          void killed?.hub.close({ graceMs: 0 })
          for (const response of killed?.responses ?? []) response.destroy()
        }
        if (chance() < 0.4) await (chance() < 0.2 ? setTimeout(chance() * 20) : turns(Math.floor(chance() * 4)))
      }
      weather.fail = 0
      const wantedOf = ({ viewer }: Reader, id: string): number[] =>
        (log.get(id) ?? []).filter((event) => isVisible(event, viewer)).map(({ seq }) => seq)
      for (const reader of readers) {
        if (reader.client === null || reader.client.closed) await visit(reader)
        await vi.waitFor(async () => {
          if (reader.client === null || reader.client.closed) await visit(reader)
          const read = [...reader.read, ...(reader.client?.events ?? [])]
          for (const id of reader.cursors.ids) expect(placesOf(read, id)).toEqual(wantedOf(reader, id))
        })
        leave(reader)
        // Each id tells no less than has come, and what is not for the reader at most besides.
        for (const [n, { id = '' }] of reader.read.entries()) {
          const told = reader.cursors.decode(id) ?? []
          const come = reader.read.slice(0, n + 1)
          for (const [at, discussionId] of reader.cursors.ids.entries()) {
            const last = placesOf(come, discussionId).at(-1) ?? 0
            const next = wantedOf(reader, discussionId).find((seq) => seq > last) ?? Infinity
            expect(told[at]).toBeGreaterThanOrEqual(last)
            expect(told[at]).toBeLessThan(next)
          }
        }
      }
      await Promise.all(processes.map(({ hub }) => hub.close({ graceMs: 0 })))
    }),
    { numRuns: effort(40, 8) },
  )
})
