import type { Registry } from 'prom-client'

import type { PlaceRequest } from '../core/stream-places.ts'
import type { TokenAnswer, TokenRequest } from '../data/limits/shared.ts'

/** A message of the bus, and its channel. */
export type BusMessage = readonly [channel: string, message: string]

/** The metrics of one process. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The first message of a process that serves. */
export interface Hello {
  text: string
  /** Whether it contains credentials, which are shown once. */
  hasCredentials: boolean
}

/** The port of a parent's listener, or why it cannot listen. */
export type Listening = { port: number } | { code: string; message: string }

/** Calls of a process to its parent. */
export interface Parent {
  /** Listens for all processes, and gives this one its share of connections from now on. */
  listen(host: string, port: number): Promise<Listening>
  /** The connection has arrived. */
  confirm(): void
  /** Gives this process no more connections. Earlier ones arrive before the answer. */
  leave(): Promise<void>
  ready(hello: Hello): void
  publish(news: readonly BusMessage[]): void
  subscribe(channel: string): void
  unsubscribe(channel: string): void
  takeTokens(request: TokenRequest): TokenAnswer
  /** Whether a place is free. `place` is the process's own number for it. */
  takePlace(place: number, request: PlaceRequest): Promise<boolean>
  /** Also for a place whose request was not answered in time. */
  giveBack(place: number): void
  /** The metrics of all its processes, summed, as text. */
  figures(): Promise<string>
}

/** Goes with a connection. */
export const CONNECTION = { connection: true } as const

export const isConnection = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'connection' in message

/** Calls of a parent to a process. */
export interface Child {
  receive(news: readonly BusMessage[]): void
  /** Messages of the bus were dropped, because this process was too slow. */
  missed(): void
  figures(): Promise<Figures>
  /** Answered while the process runs. */
  ping(): void
}
