import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'

import { isTold } from './outage.ts'

const DEBUG = 20

/**
 * One JSON line an event, on standard error: standard output is for what a person started the
 * process to read.
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
          // An outage of the database has one line of its own; what fails because of it,
          // everywhere, is no news.
          if (at > DEBUG && isTold(err)) this.debug(...args)
          else method.apply(this, args)
        },
      },
      // Nothing that is a secret is logged on purpose; this is the net below.
      redact: ['*.authorization', '*.cookie', '*.ticket', '*.token', '*.secret', '*.password', '*["x-api-key"]'],
    },
    destination,
  )

// With a minimum of 0, pino has no flush.
const standardError = (): DestinationStream => pino.destination({ dest: 2, minLength: 1 })
