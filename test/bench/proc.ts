// What the kernel says of processes.
import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

import type pg from 'pg'

import { NotHere } from './size.ts'

/** Milliseconds of CPU of a process's threads. */
export function cpuMsOf(pid: number): number {
  const nanos = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(unlessGone(() => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'))?.split(' ', 1)[0] ?? 0),
  )
  return nanos.reduce((sum, each) => sum + each, 0) / 1e6
}

/**
 * The same with threads that have ended, from the kernel's table: 100 ticks a second of user and
 * system time. One tick at least, so that it can be divided by.
 */
export const allCpuMsOf = (pid: number): number => Math.max(ticksOf(pid, 11), 1) * 10

/** The same of all children of a process that have ended. */
export const childrenCpuMs = (pid = process.pid): number => ticksOf(pid, 13) * 10

/** The fields of the kernel's table after the name. */
const statOf = (pid: number): string[] => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []

const ticksOf = (pid: number, at: number): number => Number(statOf(pid)[at]) + Number(statOf(pid)[at + 1])

export const parentOf = (pid: number): number => Number(statOf(pid)[1])

/** The children of a process's main thread. */
export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** What the kernel says of a process or a thread; undefined of one that has ended. */
export function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/**
 * Milliseconds of CPU of each connection to a database. Throws NotHere where its server is on
 * another machine.
 */
export async function backendsMs(database: Pick<pg.Client, 'query'>): Promise<Map<number, number>> {
  const { rows } = await database.query<{ pid: number; own: number }>(
    'SELECT pid, pg_backend_pid() AS own FROM pg_stat_activity WHERE datname = current_database()',
  )
  const own = rows[0]?.own ?? 0
  if (!unlessGone(() => readFileSync(`/proc/${own}/comm`, 'utf8'))?.startsWith('postgres'))
    throw new NotHere('the processes of PostgreSQL')
  return new Map(rows.map(({ pid }) => [pid, unlessGone(() => cpuMsOf(pid)) ?? 0]))
}

/** The first child of a process. Throws where it has none. */
export function childOf({ pid = 0 }: ChildProcess): number {
  const [child] = childrenOf(pid)
  if (child === undefined) throw new Error(`the process ${pid} has no child`)
  return child
}

/** Bytes that a process has resident, or has had at most. Throws for one that has ended. */
export function residentBytes(pid: number, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const match = new RegExp(`${which}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  if (match === null) throw new Error(`the process ${pid} has ended`)
  return Number(match[1]) * 1024
}
