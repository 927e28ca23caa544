import type { Server, Socket } from 'node:net'

import { createBirpc } from 'birpc'

import type { Bus } from '../core/bus.ts'
import { ServiceError } from '../core/errors.ts'
import type { Limits } from '../core/limits.ts'
import type { StreamPlaces } from '../core/stream-places.ts'
import { createMemoryBus } from '../data/bus/memory.ts'
import { createMemoryPlaces } from '../data/places/memory.ts'
import { createSharedLimits } from '../data/limits/shared.ts'
import {
  type Child,
  type Figures,
  type Hello,
  isConnection,
  type Listening,
  type BusMessage,
  type Parent,
} from './protocol.ts'

/** The connection of a process to its parent. */
export interface Link {
  /** Reaches all processes of the same parent. */
  readonly bus: Bus
  readonly limits: Limits
  readonly places: StreamPlaces
  /** Lets `server` take its share of the connections to a port. */
  listen(server: Server, host: string, port: number): Promise<Listening>
  /** Takes no more connections. */
  leave(): Promise<void>
  /** The metrics of all processes of the same parent. */
  figures(): Promise<string>
  /** Answers when the parent asks for this process's metrics. */
  onFigures(figures: () => Promise<Figures>): void
  ready(hello: Hello): void
}

/** How long the parent may take, in milliseconds. It does little, but a machine may stall. */
const PATIENCE = { token: 500, place: 500, subscribe: 1000, leave: 2000, figures: 3000 }

/** What a call through birpc returns. */
type Calls<T> = {
  [Name in keyof T]: T[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never
}

export function openLink(): Link {
  const ownBus = createMemoryBus()
  const gapListeners = new Set<() => void>()
  let ownFigures = (): Promise<Figures> => Promise.resolve([])
  const parent: Calls<Parent> = createBirpc<Parent, Child>(
    {
      receive: (news) => news.forEach(([channel, message]) => ownBus.publish(channel, message)),
      missed: () => gapListeners.forEach((listener) => listener()),
      figures: () => ownFigures(),
      ping: () => undefined,
    },
    {
      // Without a parent the process ends, but it may learn of that only after it has tried to
      // send.
      post: (message) => void process.send?.(message, undefined, undefined, () => undefined),
      on: (listener) => void process.on('message', listener),
      eventNames: ['confirm', 'ready', 'publish', 'unsubscribe', 'giveBack'],
      // No timeout here: every call is answered, if late, and each caller has its own deadline.
      timeout: -1,
    },
  )
  const onGap = (listener: () => void) => {
    gapListeners.add(listener)
    return () => gapListeners.delete(listener)
  }
  return {
    listen: (server, host, port) => {
      process.on('message', (message, socket) => {
        if (!isConnection(message)) return
        void parent.confirm()
        takeConnection(server, socket as Socket | undefined)
      })
      // It never listens itself, but handles its connections from then on.
      server.emit('listening')
      return parent.listen(host, port)
    },
    leave: async () => void (await inTime(parent.leave(), PATIENCE.leave)),
    bus: { ...spread(ownBus, parent), onGap },
    limits: createSharedLimits({
      isUp: () => process.connected,
      take: async (request) => {
        const answer = await inTime(parent.takeTokens(request), PATIENCE.token)
        if (answer === LATE) throw new Error('the parent does not answer')
        return answer
      },
      close: () => undefined,
    }),
    places: placesOf(parent),
    figures: async () => {
      const text = await inTime(parent.figures(), PATIENCE.figures)
      if (text === LATE)
        throw new ServiceError('unavailable', { detail: 'The parent of the processes does not answer.' })
      return text
    },
    onFigures: (figures) => void (ownFigures = figures),
    ready: (hello) => void parent.ready(hello),
  }
}

const LATE = Symbol('late')

async function inTime<T>(answer: Promise<T>, withinMs: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof LATE>((resolve) => (timer = setTimeout(resolve, withinMs, LATE)))
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

/** Ignores a connection that ended on its way. */
function takeConnection(server: Server, socket: Socket | undefined): void {
  if (socket === undefined) return
  // As HTTP's own listener does.
  socket.allowHalfOpen = true
  server.emit('connection', socket)
}

/** Places over all processes; while the parent does not answer, by this process's own count. */
function placesOf(parent: Calls<Pick<Parent, 'takePlace' | 'giveBack'>>): StreamPlaces {
  const own = createMemoryPlaces()
  let asked = 0
  return {
    take: async (request) => {
      const giveBackOwn = await own.take(request)
      if (giveBackOwn === null) return null
      const place = ++asked
      const hasRoom = await inTime(parent.takePlace(place, request), PATIENCE.place)
      if (hasRoom === LATE) void parent.giveBack(place)
      if (hasRoom === false) {
        giveBackOwn()
        return null
      }
      let isHeld = true
      return () => {
        giveBackOwn()
        if (isHeld && hasRoom === true) void parent.giveBack(place)
        isHeld = false
      }
    },
    close: () => own.close(),
  }
}

/** A bus that forwards this process's messages to the parent. */
function spread(bus: Bus, parent: Calls<Pick<Parent, 'publish' | 'subscribe' | 'unsubscribe'>>): Bus {
  const listeners = new Map<string, { count: number; ready: Promise<void> }>()
  let unsent: BusMessage[] = []
  const send = (): void => {
    void parent.publish(unsent)
    unsent = []
  }
  return {
    ...bus,
    publish(channel, message, onSent) {
      bus.publish(channel, message, onSent)
      // Messages published in one turn are sent as one.
      if (unsent.push([channel, message]) === 1) setImmediate(send)
    },
    async subscribe(channel, listener) {
      const leave = await bus.subscribe(channel, listener)
      const entry = listeners.get(channel) ?? { count: 0, ready: parent.subscribe(channel) }
      listeners.set(channel, entry)
      entry.count++
      // While the parent hangs the subscription waits for it; the caller does not.
      await inTime(entry.ready, PATIENCE.subscribe)
      let isIn = true
      return () => {
        leave()
        if (!isIn) return
        isIn = false
        if (--entry.count > 0) return
        listeners.delete(channel)
        void parent.unsubscribe(channel)
      }
    },
  }
}
