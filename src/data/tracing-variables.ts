import { SettingsError } from '../core/settings/settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const PROTOCOLS = ['http/protobuf', 'http/json'] as const

/** How traces leave the process: by OTLP, or as text on standard output. */
export type Exporter = (typeof PROTOCOLS)[number] | 'console'

/**
 * The exporter that OpenTelemetry's standard variables select; null for none. Throws a
 * SettingsError for one that the service lacks.
 */
export function exporterOf(env: Environment): Exporter | null {
  const valueOf = (name: string): string | undefined => env[name]?.trim() || undefined
  if (valueOf('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return null
  const endpoint = valueOf('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? valueOf('OTEL_EXPORTER_OTLP_ENDPOINT')
  const exporter = valueOf('OTEL_TRACES_EXPORTER') ?? (endpoint === undefined ? 'none' : 'otlp')
  if (exporter === 'none') return null
  if (exporter === 'console') return exporter
  if (exporter !== 'otlp') throw new SettingsError('OTEL_TRACES_EXPORTER: must be one of otlp, console, none')
  const protocol = valueOf('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? valueOf('OTEL_EXPORTER_OTLP_PROTOCOL')
  const known = PROTOCOLS.find((each) => each === (protocol ?? PROTOCOLS[0]))
  if (known === undefined) {
    throw new SettingsError(`OTEL_EXPORTER_OTLP_PROTOCOL: must be one of ${PROTOCOLS.join(', ')}`)
  }
  return known
}

/** Whether the next trace is sampled. */
export type Draw = () => boolean

/**
 * Draws with probability `share`, by counting down to the next sampled draw: the others cost one
 * subtraction, where the SDK would make two ids and a span for each.
 */
export function drawing(share: number, chance: () => number = Math.random): Draw {
  const gap = (): number =>
    share === 1 ? 0 : share === 0 ? Infinity : Math.floor(Math.log(1 - chance()) / Math.log(1 - share))
  let left = gap()
  return () => {
    if (left-- > 0) return false
    left = gap()
    return true
  }
}

/** The share that the standard variables sample by chance; null if they set none. */
export function shareOf({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: given }: Environment): number | null {
  const isByChance = sampler === 'traceidratio' || sampler === 'parentbased_traceidratio'
  const share = Number(given?.trim() || NaN)
  return isByChance && share >= 0 && share <= 1 ? share : null
}
