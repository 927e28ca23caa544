import { execFile, type ExecFileOptions } from 'node:child_process'
import { join } from 'node:path'

import { ROOT } from '../../src/core/process/root.ts'
import type { Env } from './processes.ts'

/** The command line as it is built. */
export const CLI = join(ROOT, 'dist/cli/cli.js')

export interface Outcome {
  code: number
  stdout: string
  stderr: string
}

/** Runs a program with these settings and no others, to its end. */
export const runProgram = (
  command: string,
  args: readonly string[],
  env: Env,
  options: Pick<ExecFileOptions, 'cwd' | 'uid'> = {},
): Promise<Outcome> => {
  const { PATH, HOME } = process.env
  return new Promise((resolve) =>
    execFile(command, args, { env: { PATH, HOME, ...env }, encoding: 'utf8', ...options }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    ),
  )
}

/** Runs the command line, as `runProgram` does. */
export const runCli = (args: readonly string[], env: Env, options?: Parameters<typeof runProgram>[3]) =>
  runProgram(process.execPath, [CLI, ...args], env, options)
