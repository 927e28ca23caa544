import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import type { Rate } from '../../core/limits.ts'
import { browserOf } from '../../live/admission.ts'
import { takeForAnswers } from '../../live/browser-limits.ts'
import type { BrowserUse } from '../../live/caps.ts'

/**
 * A request pays one token for a page of any size; an event, of which many come, pays for its
 * values. An event of our own documents has 121: at the default rates, one address gets 165 a
 * second.
 */
const VALUES_PER_TOKEN = 1000

interface Payer {
  use: BrowserUse
  rate: Rate
  app: Ctx['app']
  /** The part of a token that its answers have cost beyond those that it has paid. */
  owed: number
}

/**
 * The browsers that pay for the answers of one subscription: for each answer one of them that has
 * tokens. Answers to keys and members cost nothing.
 */
export class Payers {
  /** The tokens that one answer costs. */
  readonly #price: number
  readonly #payers: Payer[] = []
  /** The index of the payer that was asked last. */
  #turn = -1

  /** `cost`: the values that one answer has. */
  constructor(cost: number) {
    this.#price = cost / VALUES_PER_TOKEN
  }

  /** Adds a subscriber. The result removes it. */
  add(ctx: Ctx): () => void {
    const use = browserOf(ctx)
    if (use === null) return () => undefined
    const payer: Payer = { use, rate: requireCaller(ctx).tenant.settings.clientToken, app: ctx.app, owed: 0 }
    this.#payers.push(payer)
    return () => void this.#payers.splice(this.#payers.indexOf(payer), 1)
  }

  /** Whether there is nobody who pays. */
  get isEmpty(): boolean {
    return this.#payers.length === 0
  }

  /**
   * Takes the price of up to so many answers. Returns how many of them are paid for, from the
   * first: all if nobody has to pay.
   */
  take(answers: number): number {
    if (this.isEmpty) return answers
    let paid = 0
    for (let refusals = 0; paid < answers && refusals < this.#payers.length;) {
      this.#turn = (this.#turn + 1) % this.#payers.length
      const payer = this.#payers[this.#turn] as Payer
      const portion = Math.min(answers - paid, this.#portionOf(payer))
      const isPaid = this.#charge(payer, portion)
      refusals = isPaid ? 0 : refusals + 1
      if (isPaid) paid += portion
    }
    return paid
  }

  /** The most answers of one payment: a token owes at most one burst after it. */
  #portionOf({ rate }: Payer): number {
    return Math.max(1, Math.floor(rate.burst / this.#price))
  }

  #charge(payer: Payer, answers: number): boolean {
    const owed = payer.owed + answers * this.#price
    const tokens = Math.floor(owed)
    if (tokens > 0 && !takeForAnswers(payer.app, payer.use, payer.rate, tokens)) return false
    payer.owed = owed - tokens
    return true
  }
}
