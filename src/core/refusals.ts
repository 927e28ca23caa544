import type { App } from './context.ts'
import type { ErrorCode } from './errors.ts'
import { counter, metricsOf } from './metrics.ts'

/** Where a caller is told of an error. */
export type Surface = 'rest' | 'graphql' | 'stream' | 'other'

/** Counts an error that a caller is told of. */
export const countRefusal = (app: App, surface: Surface, code: ErrorCode): void =>
  counter(metricsOf(app), 'refusals_total').inc({ code, surface })
