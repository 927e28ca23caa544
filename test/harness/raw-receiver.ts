import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'

import { makeCertificates } from './certificates.ts'

/** An answer as bytes, past what an HTTP library would make of them. */
export interface RawAnswer {
  /** Written one after another. */
  pieces: readonly Buffer[]
  /** Milliseconds between two pieces. */
  pauseMs?: number
  /** What becomes of the connection after the last piece. */
  end?: 'keep' | 'close' | 'reset'
  /** Whether it is written before the body of the request is read. */
  isEarly?: boolean
}

export interface RawReceiver {
  /** `https://127.0.0.1:<port>`. */
  url: string
  caFile: string
  /** The answers to the requests at a path, one after another; the last one repeats. */
  on(path: string, ...answers: RawAnswer[]): void
  /** The bytes of the requests at a path, each with its connection. */
  requests(path: string): { text: string; port: number }[]
  /** Resolves once the answers that began have been written, and their connections ended. */
  settled(path: string): Promise<unknown>
  close(): Promise<void>
}

/** A receiver that reads requests by hand, and writes the bytes that it is told to. */
export async function startRawReceiver(): Promise<RawReceiver> {
  const certificates = makeCertificates(['127.0.0.1'])
  const folder = mkdtempSync(join(tmpdir(), 'raw-receiver-'))
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, certificates.ca)
  const answers = new Map<string, RawAnswer[]>()
  const seen = new Map<string, { text: string; port: number }[]>()
  const counts = new Map<string, number>()
  const writes = new Map<string, Promise<void>[]>()
  const sockets = new Set<TLSSocket>()
  const server = createServer({ key: certificates.key, cert: certificates.cert }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    let text = ''
    let isAnswered = false
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const headEnd = text.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const path = /^\S+ (\S+)/.exec(text)?.[1] ?? ''
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0)
      const isWhole = text.length >= headEnd + 4 + length
      const planned = answers.get(path) ?? []
      const count = counts.get(path) ?? 0
      const answer = planned[Math.min(count, planned.length - 1)]
      if (!isAnswered && answer !== undefined && (isWhole || answer.isEarly === true)) {
        isAnswered = true
        counts.set(path, count + 1)
        writes.set(path, [...(writes.get(path) ?? []), write(socket, answer)])
      }
      if (!isWhole) return
      seen.set(path, [...(seen.get(path) ?? []), { text, port: socket.remotePort ?? 0 }])
      ;[text, isAnswered] = ['', false]
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caFile,
    on: (path, ...list) => void answers.set(path, list),
    requests: (path) => seen.get(path) ?? [],
    settled: (path) => Promise.all(writes.get(path) ?? []),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function write(socket: TLSSocket, { pieces, pauseMs = 0, end = 'keep' }: RawAnswer): Promise<void> {
  for (const [place, piece] of pieces.entries()) {
    if (place > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    if (socket.destroyed) return
    await new Promise((resolve) => socket.write(piece, resolve))
  }
  if (end === 'close') socket.end()
  if (end !== 'reset') return
  await new Promise((resolve) => setTimeout(resolve, 5))
  socket.destroy()
}
