import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * A process that upgrades a database to the release after this one, as that release's first process
 * does.
 */
export function startUpgrade(url: string): { exited: Promise<unknown[]>; kill(): Promise<void> } {
  const child = fork(fileURLToPath(new URL('upgrading.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, UPGRADE_URL: url },
  })
  const exited = once(child, 'exit')
  return {
    exited,
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
