import type { Logger } from 'pino'

import type { Tracing } from '../core/span.ts'
import { drawing, type Environment, exporterOf, shareOf } from './tracing-variables.ts'

/** The traces of this process, if its environment asks for them. Otherwise nothing is loaded. */
export async function openTracing(env: Environment, log: Logger): Promise<Tracing | undefined> {
  const exporter = exporterOf(env)
  if (exporter === null) return undefined
  const share = shareOf(env)
  return (await import('./tracing-sdk.ts')).startTracing(exporter, share === null ? null : drawing(share), log)
}
