import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isatty, WriteStream } from 'node:tty'

import cliProgress from 'cli-progress'

import type { ImportReport } from '../transfer/import/import.ts'
import type { ImportFinding } from '../domains/imports/report.ts'
import type { Progress, Watching } from '../transfer/import/run.ts'

/** Standard error, if it is a terminal: in the thread of a command Node does not say so. */
const terminal = isatty(2) ? new WriteStream(2) : null

/** Shows an import while it runs. */
export interface Shown extends Required<Pick<Watching, 'onProgress' | 'onFinding'>> {
  /** Ends the display, and returns the text to print about the outcome. */
  end: (outcome: object) => string
  /** Ends the display without an outcome. */
  stop: () => void
}

/** The most findings of a kind on a terminal; the report has more, and a pipe gets all. */
const MAX_SHOWN = 20

/** The least time between two lines. */
const LINE_MS = 1000

/** Shows an import of a file: a bar on a terminal, else lines of JSON on standard output. */
export const showImport = (path: string): Shown => (terminal !== null ? showBar(path) : showLines())

/** Shows an export like an import. With `isPiped` standard output has the export itself. */
export function showExport(isPiped: boolean): {
  onProgress: (written: number, total: number) => void
  end: (outcome: object) => string
  stop: () => void
} {
  const print = isPiped ? console.error : console.log
  if (terminal === null) {
    let last = 0
    return {
      onProgress: (comments, total) => {
        if (performance.now() - last < LINE_MS) return
        last = performance.now()
        print(JSON.stringify({ progress: { comments, total } }))
      },
      end: (report) => outputOf(JSON.stringify({ report }), isPiped),
      stop: () => undefined,
    }
  }
  const bar = newBar('{bar} {percentage}% | {value} of {total} comments, {rate}/s | {eta_formatted} left')
  const started = performance.now()
  bar.start(1, 0, { rate: 0 })
  return {
    onProgress: (written, total) => {
      bar.setTotal(Math.max(1, total))
      bar.update(written, { rate: Math.round((written * 1000) / (performance.now() - started)) })
    },
    end: (report) => {
      bar.stop()
      return outputOf(JSON.stringify(report, null, 2), isPiped)
    },
    stop: () => bar.stop(),
  }
}

interface Left {
  discussions: number
  readers: number
}

/** Shows the removal of a tenant, on standard error. */
export function showRemoval(): { onProgress: (left: Left) => void; stop: () => void } {
  let last = -Infinity
  if (terminal === null)
    return {
      onProgress: ({ discussions, readers }) => {
        if (performance.now() - last < LINE_MS) return
        last = performance.now()
        console.error(JSON.stringify({ left: { discussions, readers } }))
      },
      stop: () => undefined,
    }
  const bar = newBar('{bar} {percentage}% | {left} left')
  let total: number | undefined
  return {
    onProgress: ({ discussions, readers }) => {
      const rest = discussions + readers
      if (total === undefined) bar.start((total = Math.max(1, rest)), 0, { left: '' })
      bar.update(Math.max(0, total - rest), { left: `${discussions} discussions, ${readers} readers` })
    },
    stop: () => bar.stop(),
  }
}

/** The text for standard output: empty where that is piped, and then printed on standard error. */
function outputOf(text: string, isPiped: boolean): string {
  if (!isPiped) return text
  console.error(text)
  return ''
}

const newBar = (format: string): cliProgress.SingleBar =>
  new cliProgress.SingleBar({
    stream: terminal ?? process.stderr,
    format,
    barsize: 30,
    hideCursor: true,
    gracefulExit: false,
    etaBuffer: 50,
  })

function showLines(): Shown {
  const print = (line: object): void => console.log(JSON.stringify(line))
  let last = -Infinity
  let pending: Progress | undefined
  return {
    onProgress: (progress) => {
      pending = progress
      if (performance.now() - last < LINE_MS) return
      last = performance.now()
      pending = undefined
      print({ progress })
    },
    onFinding: (kind, finding) => print({ [kind]: finding }),
    end: (report) => {
      if (pending !== undefined) print({ progress: pending })
      return JSON.stringify({ report })
    },
    stop: () => undefined,
  }
}

/**
 * The bytes of a file, or of all files in a folder; 0 if it cannot be read, which the import
 * reports.
 */
function sizeOf(path: string): number {
  try {
    const stat = statSync(path)
    return stat.isDirectory()
      ? readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
      : stat.size
  } catch {
    return 0
  }
}

/**
 * Writes to the terminal itself: the main thread, which hands on the rest of the output, may mix
 * the lines with those of standard output.
 */
const say = (line: string): void => void terminal?.write(`${line}\n`)

function showBar(path: string): Shown {
  const bar = newBar('{bar} {percentage}% | {comments} comments, {items} items, {rate}/s | {eta_formatted} left')
  const started = performance.now()
  const first: Record<'refused' | 'changed', ImportFinding[]> = { refused: [], changed: [] }
  bar.start(Math.max(1, sizeOf(path)), 0, { comments: 0, items: 0, rate: 0 })
  const update = ({ bytes, items, counts }: Progress): void => {
    const rate = Math.round((items * 1000) / (performance.now() - started))
    bar.update(bytes, { comments: counts.comments ?? 0, items, rate })
  }
  return {
    onProgress: update,
    onFinding: (kind, finding) => {
      if (first[kind].length < MAX_SHOWN) first[kind].push(finding)
    },
    end: (report) => {
      const { counts, source } = report as Pick<ImportReport, 'counts' | 'source'>
      bar.update(bar.getTotal(), { comments: counts.comments ?? 0 })
      bar.stop()
      for (const [kind, title] of [
        ['refused', 'Not taken'],
        ['changed', 'Taken otherwise than in the file'],
      ] as const) {
        const { total } = (report as Partial<ImportReport>)[kind] ?? { total: 0 }
        if (total === 0) continue
        say(`${title}: ${total}`)
        if (kind === 'refused' && source !== 'jsonl')
          say('  What can only be counted, as votes without voters, is one of these.')
        for (const { place, reason } of first[kind]) say(`  ${place} ${reason}`)
        if (total > first[kind].length) say('  … For all of it, send the output to a file.')
      }
      return JSON.stringify(report, null, 2)
    },
    stop: () => bar.stop(),
  }
}
