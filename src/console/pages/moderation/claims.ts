import { useIdle } from '@mantine/hooks'
import { useEffect, useState } from 'react'

import { MoveClaimsDocument } from '../../../generated/console.ts'
import { beforeLeaving } from '../../api/outbox.ts'
import { requestToTheEnd } from '../../api/request.ts'
import { colleagueOn, type Entries, type Entry } from './entries.ts'

/** A comment is claimed once the moderator stays with it: what they pass by is left to others. */
const REST_MS = 250
/** A claim lasts for 5 minutes. */
const RENEW_MS = 120_000
/** The service's bound for one request. */
const MOST_AT_ONCE = 50

const ask = (take: readonly string[], back: readonly string[]) =>
  requestToTheEnd(MoveClaimsDocument, {
    take: { ids: [...take] },
    takes: take.length > 0,
    back: { ids: [...back] },
    givesBack: back.length > 0,
  })

/**
 * The claims of this page: of the comment that the moderator is at, and of judged ones until they
 * are sent. The service ends those with the judgement.
 */
class Claims {
  readonly #tell: (id: string, colleague: string | null) => void
  readonly #judged = new Set<string>()
  readonly #held = new Set<string>()
  /** Those of the request that is under way. */
  #asked: readonly string[] = []
  #at: string | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isBusy = false
  /** Whether those that are held are to be claimed once more. */
  #isOld = false

  /** `tell` hears who works on a comment in the place of this moderator; null for nobody. */
  constructor(tell: (id: string, colleague: string | null) => void) {
    this.#tell = tell
  }

  moveTo(id: string | undefined): void {
    if (id === this.#at) return
    this.#at = id
    this.soon()
  }

  /** These wait to be sent. */
  judge(ids: ReadonlySet<string>): void {
    for (const id of ids) this.#judged.add(id)
    clearTimeout(this.#timer)
    void this.#move()
  }

  /** These wait for a judgement again. */
  bring(ids: Iterable<string>): void {
    for (const id of ids) this.#judged.delete(id)
    this.soon()
  }

  /** These were judged: nobody holds them. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) {
      this.#judged.delete(id)
      this.#held.delete(id)
    }
  }

  soon(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#move(), REST_MS)
  }

  renew(): void {
    this.#isOld = true
    this.soon()
  }

  /** Gives back all claims but those of judged comments. It also works while a page is closed. */
  async leave(): Promise<void> {
    this.#at = undefined
    clearTimeout(this.#timer)
    if (!this.#isBusy) return this.#move()
    const ids = [...this.#held, ...this.#asked].filter((id) => !this.#judged.has(id)).slice(0, MOST_AT_ONCE)
    if (ids.length > 0) await ask([], ids).catch(() => undefined)
  }

  async #move(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    const asked = new Set<string>()
    const isOld = this.#isOld
    this.#isOld = false
    try {
      for (;;) {
        const wanted = new Set(this.#at === undefined ? this.#judged : [this.#at, ...this.#judged])
        const take = [...wanted].filter((id) => (isOld || !this.#held.has(id)) && !asked.has(id)).slice(0, MOST_AT_ONCE)
        const back = [...this.#held].filter((id) => !wanted.has(id)).slice(0, MOST_AT_ONCE)
        if (take.length + back.length === 0) return
        for (const id of take) asked.add(id)
        this.#asked = take
        const { claimComments } = await ask(take, back)
        for (const id of back) this.#held.delete(id)
        for (const { commentId, held, claimedBy } of claimComments?.outcomes ?? []) {
          if (held) this.#held.add(commentId)
          else this.#held.delete(commentId)
          this.#tell(commentId, colleagueOn({ claimedBy: claimedBy ?? null }))
        }
      }
    } catch {
      // The next move tries again. Nobody needs a claim to judge.
    } finally {
      this.#isBusy = false
    }
  }
}

/**
 * Claims what the moderator works on in a list, and returns the list and its claims. Judgements
 * wait for `graceMs` before they are sent.
 */
export function useClaims(queue: Entries, graceMs: number): { claims: Claims; queue: Entries } {
  const { change } = queue
  const [claims] = useState(() => new Claims((id, colleague) => change(id, { colleague })))
  const isIdle = useIdle(RENEW_MS, { initialState: false })
  useEffect(() => {
    if (isIdle) return
    claims.renew()
    const timer = setInterval(() => claims.renew(), RENEW_MS)
    return () => clearInterval(timer)
  }, [claims, isIdle])
  useEffect(() => {
    const stay = beforeLeaving(() => claims.leave())
    return () => {
      stay()
      void claims.leave()
    }
  }, [claims])
  // A colleague may have left the comment that this moderator is at.
  const { data } = queue.list
  useEffect(() => {
    if (data !== undefined) claims.soon()
  }, [claims, data])
  return {
    claims,
    queue: {
      ...queue,
      take: (ids, verb) => {
        if (graceMs > 0) claims.judge(ids)
        queue.take(ids, verb)
      },
      bring: (entries: readonly Entry[]) => {
        claims.bring(entries.map(({ item }) => item.comment.id))
        queue.bring(entries)
      },
      stay: (ids) => {
        claims.bring(ids)
        queue.stay(ids)
      },
      forget: (done) => {
        claims.forget(done.keys())
        queue.forget(done)
      },
    },
  }
}
