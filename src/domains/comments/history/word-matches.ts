import { setImmediate as nextTurn } from 'node:timers/promises'

import { requireCaller } from '../../../core/access.ts'
import { perApp } from '../../../core/app.ts'
import type { Ctx } from '../../../core/context.ts'
import { ServiceError } from '../../../core/errors.ts'
import { readLatestTexts } from './latest-texts-sql.ts'
import { searchedText } from '../rules.ts'
import { compileWords } from '../text/words.ts'

/** How many of a tenant's latest comments a list is tried on. */
export const TRIED_COMMENTS = 1000

/** What a list of words would have caught. */
export interface WordMatches {
  /** How many comments were looked at. */
  comments: number
  matched: number
  /** The entries that are in some comment, the most frequent first. */
  entries: { entry: string; matched: number }[]
}

/** 2 MB of text take some 500 ms of CPU: this long at a time, between other requests. */
const SLICE_MS = 5
const MOST_WAITING = 8

/** Trials run one after the other in a process, so that many take no more of its time than one. */
const turnsOf = perApp(() => ({ last: Promise.resolve(), waiting: 0 }))

/** Tries a list on the latest comments. Throws `unavailable` while many others wait. */
export async function tryWords(ctx: Ctx, words: readonly string[]): Promise<WordMatches> {
  const turns = turnsOf(ctx.app)
  if (turns.waiting >= MOST_WAITING) throw new ServiceError('unavailable', { retryAfterSeconds: 1 })
  turns.waiting++
  const trial = turns.last.then(() => runTrial(ctx, words))
  turns.last = trial.then(
    () => undefined,
    () => undefined,
  )
  return trial.finally(() => turns.waiting--)
}

async function runTrial(ctx: Ctx, words: readonly string[]): Promise<WordMatches> {
  const { tenant } = requireCaller(ctx)
  const texts = await readLatestTexts(ctx.app.db.query, tenant.id, TRIED_COMMENTS)
  const filter = compileWords(words)
  const counts = new Map<number, number>()
  let matched = 0
  let began = performance.now()
  for (const { body, bodyHtml } of texts) {
    const found = filter.entriesIn(searchedText(body, bodyHtml))
    if (found.size > 0) matched++
    for (const entry of found) counts.set(entry, (counts.get(entry) ?? 0) + 1)
    if (performance.now() - began < SLICE_MS) continue
    await nextTurn()
    began = performance.now()
  }
  const frequent = [...counts].toSorted(([a, counted], [b, other]) => other - counted || a - b)
  const entries = frequent.map(([index, count]) => ({ entry: words[index] ?? '', matched: count }))
  return { comments: texts.length, matched, entries }
}
