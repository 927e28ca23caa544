import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { tenantSettings } from '../../src/core/settings/tenant.ts'
import { renderThoroughly } from '../../src/domains/comments/text/markdown.ts'
import { judgeText } from '../../src/domains/comments/rules.ts'
import { countCpu } from '../harness/cpu.ts'
import { CORPUS, fill, FRAGMENTS, REPEATED, textOf } from '../harness/hostile-texts.ts'

const settings = tenantSettings({ bannedWords: ['zzyzx'], suspectWords: ['xyzzy', 'buy zzyzx now'] })

/** The whole cost of a comment's text before it is stored. */
function renderAndJudge(body: string): void {
  judgeText(body, renderThoroughly(body), settings)
}

const PROSE =
  'Well, the quick brown fox – it’s said – ran away; “no!” she cried. (It had “jumped” at ten past nine.)\n\n'
const MAX_RATIO = 5

/**
 * How many times what a plain text of its length costs, by CPU: others use the machine as well. The
 * least of several runs, because a run may have to collect garbage of others.
 */
function costOf(body: string): number {
  const plain = fill(PROSE, body.length)
  let [least, ofPlain] = [Infinity, Infinity]
  for (let run = 0; run < 40 && (run < 2 || least > MAX_RATIO * ofPlain); run++) {
    least = Math.min(least, cpuMicrosOf(body))
    ofPlain = Math.min(ofPlain, cpuMicrosOf(plain))
  }
  return least / ofPlain
}

function cpuMicrosOf(body: string): number {
  const micros = countCpu()
  renderAndJudge(body)
  return micros()
}

for (let n = 0; n < 100; n++)
  renderAndJudge(fill('The *quick* [fox](http://a.b), `it` said\n\n- http://a.b\n> a\n', 10_000))

describe('the cost of a text is at most 5 times that of a plain one of its length:', () => {
  test.each(CORPUS)('%s', (_name, body) => expect(costOf(body)).toBeLessThanOrEqual(MAX_RATIO))

  test('each fragment of Markdown, repeated', () => {
    const dear = FRAGMENTS.flatMap((fragment) => {
      const body = fill(fragment, 10_000).trim()
      const cost = body === '' ? 0 : costOf(body)
      return cost > MAX_RATIO ? [{ fragment, cost }] : []
    })
    expect(dear).toEqual([])
  })

  test('any of them together, at any length', () => {
    fc.assert(
      fc.property(REPEATED, (text) => {
        expect(costOf(textOf(text))).toBeLessThanOrEqual(MAX_RATIO)
      }),
      { numRuns: 100 },
    )
  })
})
