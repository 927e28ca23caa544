import { builder } from '../../schema/builder.ts'

/**
 * Settings that are whole numbers and belong together: what is read, and what can be changed, from
 * one list of texts.
 */
function numberGroup<Name extends string>(name: string, description: string, texts: Readonly<Record<Name, string>>) {
  const entries = Object.entries(texts) as [Name, string][]
  const output = builder.objectRef<Record<Name, number>>(name).implement({
    description,
    fields: (t) =>
      Object.fromEntries(
        entries.map(([field, text]) => [field, t.int({ description: text, resolve: (group) => group[field] })]),
      ),
  })
  const input = builder.inputType(`${name}Input`, {
    description: `${description} What is left out stays as it is.`,
    fields: (t) => Object.fromEntries(entries.map(([field, text]) => [field, t.int({ description: text })])),
  })
  return { output, input }
}

export const RateLimit = numberGroup('RateLimitSettings', 'How much each API key may ask.', {
  perSecond: 'Requests per second, sustained; 1 to 100 000.',
  burst: 'Requests at once; 1 to 1 000 000.',
})

export const Stream = numberGroup('StreamSettings', 'Live streams.', {
  replayHours: 'Hours that an event can be replayed; 1 to 720.',
  replayEvents: 'Events of one discussion that can be replayed; 100 to 100 000.',
  maxStreams: 'Streams open at once; 1 to 1 000 000. Tickets open nine tenths of them at most.',
  maxStreamsPerReader: "Streams open at once with one reader's tickets; 1 to 1 000.",
  maxStreamsPerTicket: 'Streams open at once with one ticket; 1 to 1 000 000.',
  maxStreamsPerAddress: 'Streams open at once with tickets from one address; 1 to 1 000 000.',
  maxDurationSeconds: 'Seconds after which a stream ends and resumes; 1 to 86 400.',
})

export const Ticket = numberGroup('TicketSettings', 'Stream tickets.', {
  connectSeconds: 'Seconds that a ticket admits a first connection; 1 to 3 600.',
  reconnectSeconds: 'Seconds that a ticket admits a connection that resumes; 1 to 86 400.',
})

export const WebhookDefaults = numberGroup(
  'WebhookDefaults',
  'How deliveries are attempted where the endpoint does not set it by itself.',
  {
    maxAttempts: 'Attempts per delivery; 1 to 10.',
    backoffBaseMs: 'Milliseconds to wait after the first failed attempt, doubled each time; 10 to 60 000.',
    timeoutMs: 'Milliseconds that one attempt may take; 100 to 30 000.',
    breakerThreshold: 'Failures in a row that open the circuit; 1 to 100.',
    breakerCooldownMs: 'Milliseconds that the circuit stays open; 100 to 3 600 000.',
    disableThreshold: 'Failures in a row that disable the endpoint; 1 to 1 000, at least breakerThreshold.',
  },
)
