import { z } from 'zod'

import { type Ctx, requireCaller } from '../../core/context.ts'
import { validate } from '../../core/validate.ts'
import { type Discussion, toDiscussion } from '../discussions/discussions.ts'
import type { Reader } from '../readers/readers.ts'
import { type Span, type SpanArgs, spanOf } from './span.ts'
import { selectTopDiscussions, selectTopReaders } from './top-sql.ts'

/** A discussion, and its approved comments of the span. */
export interface TopDiscussion {
  discussion: Discussion
  comments: number
}

/** A reader, and their approved comments of the span. */
export interface TopReader {
  reader: Reader
  comments: number
}

export interface Top extends Span {
  discussions: TopDiscussion[]
  readers: TopReader[]
}

// A quarter: readers are counted by the day, and a year of a large site has millions of their days.
const RULE = { interval: 'day', usual: 7, most: 92 } as const

const limitSchema = z.object({ limit: z.number().int().min(1).max(50) })

interface TopArgs extends SpanArgs {
  limit?: number | null | undefined
}

/**
 * Who was talked at and who talked most in a span of days, exact as of now. Throws
 * `validation_failed`.
 */
export async function getTop(ctx: Ctx, args: TopArgs): Promise<Top> {
  const { tenant } = requireCaller(ctx)
  const { limit } = validate(limitSchema, { limit: args.limit ?? 10 })
  const span = spanOf(args, RULE, new Date())
  const { query } = ctx.app.db
  const [discussions, readers] = await Promise.all([
    selectTopDiscussions(query, tenant.id, span, limit),
    selectTopReaders(query, tenant.id, span, limit),
  ])
  return {
    ...span,
    discussions: discussions.map(({ comments, ...row }) => ({ discussion: toDiscussion(row), comments })),
    readers: readers.map(({ comments, ...reader }) => ({ reader, comments })),
  }
}
