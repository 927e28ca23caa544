import type { Registry } from 'prom-client'

import type { PlaceRequest } from '../core/stream-places.ts'
import type { TokenAnswer, TokenRequest } from '../data/shared-limits.ts'

/** A message of the bus, and its channel. */
export type BusMessage = readonly [channel: string, message: string]

/** What one process tells Prometheus. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** What a process says once it serves. */
export interface Hello {
  text: string
  /** Whether it has credentials in it, which are shown once. */
  hasCredentials: boolean
}

/** Where a parent listens, or why it cannot. */
export type Listening = { port: number } | { code: string; message: string }

/** What a parent does for its processes. */
export interface Parent {
  /** Listens for all of them, and gives this one its share of connections from now on. */
  listen(host: string, port: number): Promise<Listening>
  /** The connection has arrived. */
  confirm(): void
  /** Gives this one no more connections. What was given before comes before the answer. */
  leave(): Promise<void>
  ready(hello: Hello): void
  publish(news: readonly BusMessage[]): void
  subscribe(channel: string): void
  unsubscribe(channel: string): void
  takeTokens(request: TokenRequest): TokenAnswer
  /** Whether there is room. `place` is the process's own number for it. */
  takePlace(place: number, request: PlaceRequest): Promise<boolean>
  /** Also of one that was asked for, but not answered in time. */
  giveBack(place: number): void
  /** What all its processes tell Prometheus, summed up, as text. */
  figures(): Promise<string>
}

/** Comes with a connection. */
export const CONNECTION = { connection: true } as const

export const isConnection = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'connection' in message

/** What a process does for its parent. */
export interface Child {
  hear(news: readonly BusMessage[]): void
  /** Some news was not sent: it was too slow. */
  missed(): void
  figures(): Promise<Figures>
  /** Answers where it runs. */
  ping(): void
}
