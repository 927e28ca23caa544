import { type Logger, pino, stdSerializers } from 'pino'

/** One JSON line an event, on standard error: standard output is for what a person started the process to read. */
export const createLog = (level: string): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: stdSerializers.err },
      // Nothing that is a secret is logged on purpose; this is the net below.
      redact: ['*.authorization', '*.cookie', '*.ticket', '*.token', '*.secret', '*.password', '*["x-api-key"]'],
    },
    pino.destination(2),
  )
