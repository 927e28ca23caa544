import type { App } from '../core/app.ts'
import { byService } from '../core/audit.ts'
import { ServiceError } from '../core/errors.ts'
import type { Id } from '../core/ids.ts'
import { ofTenant } from '../core/queues/patience.ts'
import { renameDiscussion } from '../domains/discussions/change.ts'
import { readRenames } from '../transfer/csv.ts'
import { CommandStopped, untilStopped } from './stop.ts'

const STOPPED = 'stopped: repeat the command to continue'

interface Report {
  rows: number
  renamed: number
  /** Had the new id already. */
  unchanged: number
  /** Had been given a third id since. */
  renamedSince: number
  refused: number
}

/**
 * Gives discussions other external ids, by a CSV file of two columns, row by row. A line on
 * standard error says of each refused row why. Throws SourceError for a file that cannot be used,
 * before anything is renamed.
 */
export async function runRename(root: App, tenantId: Id, path: string): Promise<Report> {
  const app = ofTenant(root, tenantId)
  const report: Report = { rows: 0, renamed: 0, unchanged: 0, renamedSince: 0, refused: 0 }
  const rename = async (from: string, to: string, n: number): Promise<keyof Report> => {
    try {
      const outcome = await renameDiscussion(app, byService(tenantId), from, to)
      return outcome === 'renamed_since' ? 'renamedSince' : outcome
    } catch (error) {
      // A fault of the service is not one of the row.
      if (!(error instanceof ServiceError) || error.status >= 500) throw error
      console.error(`row ${n}: ${JSON.stringify(from)} is not renamed to ${JSON.stringify(to)}: ${error.message}`)
      return 'refused'
    }
  }
  return untilStopped(CommandStopped, STOPPED, async (signal) => {
    for (const { n, from, to } of await readRenames(path)) {
      if (signal.aborted) throw new CommandStopped(`stopped at row ${n}: repeat the command to continue`)
      report.rows++
      report[await rename(from, to, n)]++
    }
    if (report.refused > 0) process.exitCode = 1
    return report
  })
}
