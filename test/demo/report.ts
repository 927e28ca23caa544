import type { Receiver } from './receiver.ts'
import { ANN } from './story.ts'
import type { Event, Stream } from './stream.ts'

/** Who has seen what. */
export interface Part {
  /** A reader's stream, by a ticket. It is cut once. */
  ann: Stream
  /** The publisher's own stream, by its API key. */
  all: Stream
  receiver: Receiver
}

/** A notice of a reply is for its recipient alone, and for no webhook. */
const isForAnn = (event: Event): boolean =>
  event.type !== 'notification_reply' || event.data.recipient.externalId === ANN.id
const isForWebhooks = (event: Event): boolean => event.type !== 'notification_reply'

const idsOf = (events: readonly Event[]): string[] => events.map(({ id }) => id)

/** Whether the publisher's stream is at `seq`, and Ann's has all of it that is hers. */
export function hasSeen({ all, ann }: Part, seq: number): boolean {
  const hers = new Set(idsOf(ann.events))
  return all.events.at(-1)?.seq === seq && all.events.every((event) => !isForAnn(event) || hers.has(event.id))
}

/**
 * Whether the publisher's stream is at `seq`, and the receiver has all of it that goes to webhooks.
 */
export function isDelivered({ all, receiver }: Part, seq: number): boolean {
  const delivered = new Set(idsOf(receiver.events()))
  return all.events.at(-1)?.seq === seq && all.events.every((event) => !isForWebhooks(event) || delivered.has(event.id))
}

/** Compares what came with what happened, number for number. Returns whether nothing is wrong. */
export function report({ ann, all, receiver }: Part, say: (text: string) => void): boolean {
  const { verified, refused, repeated } = receiver.counts
  const hers = compare(idsOf(ann.events), idsOf(all.events.filter(isForAnn)))
  const hooks = compare(idsOf(receiver.events()), idsOf(all.events.filter(isForWebhooks)))
  const isGapless = all.events.every(({ seq }, index) => seq === index + 1)
  const isOrdered = ann.events.every(({ seq }, index) => index === 0 || seq > (ann.events[index - 1]?.seq ?? 0))
  const isComplete = ann.connections.length === 2 && ann.connections.every(({ complete }) => complete)

  say(`
■ Number for number
  Events of the discussion   ${all.events.length}, numbered ${all.events.map(({ seq }) => seq).join(' ')}: ${isGapless ? 'no hole' : 'WITH A HOLE'}
  Ann's stream, cut once     ${ann.events.length} of ${hers.expected} that are hers: ${hers.lost} lost, ${hers.doubled} doubled, ${isOrdered ? 'in order' : 'OUT OF ORDER'}
  Webhook receiver           ${hooks.received} of ${hooks.expected} that go to webhooks: ${hooks.lost} lost, ${repeated} sent again
  Signatures                 ${verified} deliveries verified, ${refused} refused`)
  return (
    [isGapless, isOrdered, isComplete].every(Boolean) &&
    [hers, hooks].every(({ lost, doubled, received, expected }) => lost + doubled === 0 && received === expected) &&
    verified === hooks.expected + repeated &&
    refused === 0
  )
}

function compare(received: readonly string[], expected: readonly string[]) {
  const had = new Set(received)
  return {
    received: received.length,
    expected: expected.length,
    lost: expected.filter((id) => !had.has(id)).length,
    doubled: received.length - had.size,
  }
}
