import { z } from 'zod'

import type { Backend, Reader } from './backend.ts'

export const ANN: Reader = { id: 'user-17', name: 'Ann' }
export const BEN: Reader = { id: 'user-23', name: 'Ben' }
export const CLEO: Reader = { id: 'user-42', name: 'Cleo' }

export const ARTICLE = 'articles/2027/old-bridge'

const commentSchema = z.object({ id: z.string() })
const reactionSchema = z.object({ reactionCounts: z.record(z.string(), z.int()) })

/** Posts and reacts on the article, each time for a reader who is logged in at the publisher. */
function tongue(backend: Backend) {
  return {
    say: (reader: Reader, body: string, parentId?: string) =>
      backend.post(
        `/discussions/by-external/${encodeURIComponent(ARTICLE)}/comments`,
        commentSchema,
        { body, ...(parentId === undefined ? {} : { parentId }) },
        reader,
      ),
    react: (reader: Reader, commentId: string, type: string) =>
      backend.post(`/comments/${commentId}/reactions`, reactionSchema, { type }, reader),
  }
}

export type Step = () => Promise<unknown>

/** What is said and done while Ann listens, while she is cut off, and after. */
export function conversation(backend: Backend): Record<'listening' | 'away' | 'back', Step[]> {
  const { say, react } = tongue(backend)
  let first = ''
  let second = ''
  return {
    listening: [
      async () => (first = (await say(ANN, 'The old bridge should stay open, for **bicycles** at least.')).id),
      async () => (second = (await say(BEN, 'It needs a new deck first: https://example.com/report', first)).id),
      () => react(CLEO, first, 'like'),
    ],
    away: [
      () => say(CLEO, 'I cross it every day, and the deck is *fine*.', second),
      () => react(BEN, first, 'love'),
      () => react(CLEO, first, 'wow'),
      () => say(BEN, '<b>Not</b> by the report, page 12!', first),
    ],
    back: [
      () => say(ANN, 'Back from the tunnel. It seems that I have missed nothing.', second),
      () => react(ANN, second, 'like'),
    ],
  }
}
