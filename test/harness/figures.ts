import type { App } from '../../src/core/app.ts'
import { metricsOf } from '../../src/core/telemetry/metrics.ts'

/** The figures of a process as they are now, by name and labels: `write_lanes{of="comments"}`. */
export async function figuresOf(app: App): Promise<Record<string, number>> {
  return readFigures(await metricsOf(app).metrics())
}

/** The same of a scrape. */
export const readFigures = (text: string): Record<string, number> =>
  Object.fromEntries([...text.matchAll(/^([a-z]\S+) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]))
