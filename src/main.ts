import cluster from 'node:cluster'

import { createLog } from './core/telemetry/log.ts'
import { misspellings, readSettings, type Settings, SettingsError } from './core/settings/settings.ts'
import { handleUncaught } from './core/process/uncaught.ts'
import { beginFiles } from './data/embedded/files.ts'
import { embeddedSecrets } from './data/embedded/secrets.ts'

// A parent loads none of the serving code, and its processes none of the parent's.
async function main(): Promise<void> {
  const [argument] = process.argv.slice(2)
  if (argument !== undefined) throw new SettingsError(`${argument}: ${NO_ARGUMENTS}`)
  const settings = readSettings(process.env, embeddedSecrets)
  const root = createLog(settings.LOG_LEVEL)
  const log = cluster.isWorker ? root.child({ process: process.pid }) : root
  const uncaught = handleUncaught(log)
  if (cluster.isWorker) return (await import('./serve.ts')).serve(settings, log, uncaught)
  for (const line of misspellings(process.env)) log.warn(line)
  if (hasProcesses(settings)) return (await import('./processes/parent.ts')).startParent(settings, log, uncaught)
  if (settings.WORKERS > 1) log.info(`WORKERS: one process starts: ${WHY_ONE[settings.ROLE]}`)
  if (settings.DATABASE_URL === undefined) beginFiles(settings.DATA_DIR)
  return (await import('./serve.ts')).serve(settings, log, uncaught)
}

const NO_ARGUMENTS = 'the service takes no arguments: set environment variables instead, as PORT=4001 npm start'

/** Why a process serves alone. */
const WHY_ONE = {
  all: 'the embedded database serves one process only',
  api: 'the embedded database serves one process only',
  worker: 'it is for apis, and ROLE is worker',
}

/** Whether this process is the parent of serving processes. */
const hasProcesses = ({ WORKERS, ROLE, DATABASE_URL }: Settings): boolean =>
  WORKERS > 1 && ROLE !== 'worker' && DATABASE_URL !== undefined

void main().catch((error: unknown) => {
  if (error instanceof SettingsError) console.error(error.message)
  else console.error(error)
  process.exit(1)
})
