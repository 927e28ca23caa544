import { setTimeout as pause } from 'node:timers/promises'

import type { StreamViewer } from '../../src/live/viewer.ts'
import { type GraphQLEvent, subscribe } from './sse.ts'
import { openStream, type Received } from './stream-client.ts'

/** An event as a follower has read it. */
export interface Read {
  seq: number
  id: string
}

/** Counts the ends of connections, by name. */
export class Tally {
  readonly counts = new Map<string, number>()

  add(name: string, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by)
  }

  get(name: string): number {
    return this.counts.get(name) ?? 0
  }

  toString(): string {
    return [...this.counts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => `${name}: ${count}`)
      .join(', ')
  }
}

interface FollowerOptions {
  discussionId: string
  viewer: StreamViewer
  /** A connection at an api for `stayMs`: what was read on it. Throws where there is none. */
  visit: (url: string, position: string, stayMs: number) => Promise<Read[]>
}

/** A client that leaves whenever it likes, and resumes after the last event that it has read. */
export class Follower {
  readonly discussionId: string
  readonly viewer: StreamViewer
  readonly read: Read[] = []
  readonly #visit: FollowerOptions['visit']

  constructor({ discussionId, viewer, visit }: FollowerOptions) {
    this.discussionId = discussionId
    this.viewer = viewer
    this.#visit = visit
  }

  async visit(url: string, stayMs: number): Promise<void> {
    this.read.push(...(await this.#visit(url, String(this.read.at(-1)?.seq ?? 0), stayMs)))
  }
}

/** A broken promise of the service, which no fault excuses. */
export class Violation extends Error {}

const readOf = ({ data }: Received): Read => ({ seq: data.seq as number, id: data.id as string })

/**
 * Server-sent events, through any accepted path and header. Some clients leave before the answer.
 */
export const byEventStream =
  (path: string, headers: Record<string, string>, tally: Tally, chance: () => number) =>
  async (url: string, position: string, stayMs: number): Promise<Read[]> => {
    const signal = chance() < 0.1 ? AbortSignal.timeout(Math.floor(chance() * 10)) : undefined
    const opened = openStream(url + path, { ...headers, 'last-event-id': position }, signal)
    const stream = await opened.catch((error: Error) => {
      tally.add(signal?.aborted === true ? 'left before the answer' : 'no answer')
      if (signal?.aborted === true) return null
      throw error
    })
    if (stream === null) return []
    if (stream.status !== 200) {
      tally.add(`refused by ${stream.status}`)
      stream.close()
      if (stream.status !== 503) throw new Violation(`a stream was answered by ${stream.status}: ${stream.text}`)
      throw new Error('refused')
    }
    if (stayMs > 0) await pause(stayMs)
    stream.close()
    tally.add('resumed by SSE')
    if (stream.closed) tally.add('cut')
    const [first] = stream.all
    if (first !== undefined && first.event === 'connected' && first.data.complete !== true) {
      throw new Violation(`the replay after ${position} is incomplete: ${JSON.stringify(first.data)}`)
    }
    return stream.events.map(readOf)
  }

/** A GraphQL subscription of graphql-sse with a connection of its own. */
export const byGraphQL =
  (discussionId: string, headers: Record<string, string>, tally: Tally) =>
  async (url: string, position: string, stayMs: number): Promise<Read[]> => {
    const listener = subscribe({ url, headers, variables: { discussionId, lastEventId: position } })
    await pause(stayMs)
    listener.close()
    const code = codeOf(listener.failure)
    // Only events show that it was admitted.
    const outcome = listener.received.length > 0 ? 'resumed by GraphQL' : 'left without an event'
    tally.add(code === null ? outcome : `GraphQL: ${code}`)
    if (code === 'validation_failed') throw new Violation(`a subscription after ${position} was refused`)
    return listener.received.map(({ seq, id }: GraphQLEvent) => ({ seq, id: id as string }))
  }

function codeOf(failure: unknown): string | null {
  if (failure === null) return null
  const [error] = Array.isArray(failure) ? (failure as { extensions?: { code?: string } }[]) : []
  return error?.extensions?.code ?? 'connection lost'
}
