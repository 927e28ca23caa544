import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'

import { isTold } from '../outage.ts'

const DEBUG = 20

/**
 * One JSON line for each log event, on standard error: standard output is reserved for what
 * commands print.
 */
export const createLog = (level: string, destination: DestinationStream = standardError()): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: stdSerializers.err },
      hooks: {
        logMethod(args, method, at) {
          const [first]: readonly unknown[] = args
          const err = typeof first === 'object' && first !== null && 'err' in first ? first.err : undefined
          // An outage of the database is logged in one line; errors that result from it are logged
          // at debug level.
          if (at > DEBUG && isTold(err)) this.debug(...args)
          else method.apply(this, args)
        },
      },
      // No secret is logged on purpose; this is a safety net.
      redact: ['*.authorization', '*.cookie', '*.ticket', '*.token', '*.secret', '*.password', '*["x-api-key"]'],
    },
    destination,
  )

// With a minimum of 0, pino has no flush.
const standardError = (): DestinationStream => pino.destination({ dest: 2, minLength: 1 })
