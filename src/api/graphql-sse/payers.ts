import { type Ctx, requireCaller } from '../../core/context.ts'
import type { Rate } from '../../core/limits.ts'
import { browserOf } from '../../live/admission.ts'
import { takeForAnswers } from '../../live/browser-limits.ts'
import type { BrowserUse } from '../../live/caps.ts'

/** A request pays for a page of any size; an event, of which many come, for each 250 values. */
const VALUES_PER_TOKEN = 250

/**
 * The browsers that pay for the answers of one subscription: for each answer one of them that has
 * tokens. Usual answers cost nothing, nor do those of keys and members.
 */
export class Payers {
  readonly #price: number
  readonly #payers: { use: BrowserUse; rate: Rate; app: Ctx['app'] }[] = []

  /** `cost`: the values that one answer has. */
  constructor(cost: number) {
    this.#price = Math.floor(cost / VALUES_PER_TOKEN)
  }

  /** Adds a subscriber. The result removes it. */
  add(ctx: Ctx): () => void {
    const use = browserOf(ctx)
    // There are many subscriptions, each for long: most hold nothing here.
    if (use === null || this.#price === 0) return () => undefined
    const payer = { use, rate: requireCaller(ctx).tenant.settings.clientToken, app: ctx.app }
    this.#payers.push(payer)
    return () => void this.#payers.splice(this.#payers.indexOf(payer), 1)
  }

  /** Whether there is nobody who pays. */
  get isEmpty(): boolean {
    return this.#payers.length === 0
  }

  /** Takes the price of some answers, and returns whether anybody had it, or none is due. */
  take(answers: number): boolean {
    if (this.isEmpty) return true
    const tokens = answers * this.#price
    const index = this.#payers.findIndex(({ app, use, rate }) => takeForAnswers(app, use, rate, tokens))
    // Who has paid comes last the next time.
    this.#payers.push(...this.#payers.splice(0, index + 1))
    return index >= 0
  }
}
