import fc from 'fast-check'
import { beforeAll, expect, test, vi } from 'vitest'

import { effort } from '../harness/effort.ts'
import { byGraphql, byRest, reachableBy, type ReadPage } from '../harness/reachable.ts'
import { type Json, type TestTenant, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'
import { subscribe } from '../harness/sse.ts'
import { openStream, type Received, type StreamClient } from '../harness/stream-client.ts'

// Mal is banned in shadow in one tenant and not in its twin, and does the same in both. What he
// gets in the one is what he gets in the other.

const service = useService()
let tenants: readonly { tenant: TestTenant; key: Record<string, string>; plain: Record<string, string> }[]
beforeAll(async () => {
  const both = [service, await service.addTenant('twin')].map(async (tenant) => {
    const key = { 'x-api-key': tenant.apiKey }
    const { json } = await service.call('POST', '/keys', { headers: key, body: { label: 'plain', capabilities: [] } })
    return { tenant, key, plain: { 'x-api-key': json.key as string } }
  })
  tenants = await Promise.all(both)
})

const KINDS = ['create', 'reply', 'reply', 'edit', 'delete', 'toggle', 'set', 'take', 'report', 'suspect'] as const
interface Step {
  kind: (typeof KINDS)[number]
  who: 'mal' | 'ann'
  /** Among all comments that this reader sees. */
  target: number
}
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...KINDS),
  who: fc.constantFrom('mal', 'mal', 'ann'),
  target: fc.nat(20),
})

/** Mal deletes a comment from before his ban, which waits, with a reply that only he sees. */
const BEHIND_A_TOMBSTONE: Step[] = (['reply', 'suspect', 'delete'] as const).map((kind) => ({
  kind,
  who: 'mal',
  target: 0,
}))

let pages = 0

const EVENTS = unnamed(
  'SELECT seq, audience, recipient_id AS "recipientId" FROM events WHERE discussion_id = $1 ORDER BY seq',
)
const byMal = ({ data }: Received): boolean => data.actor.externalId?.startsWith('mal-') === true

/** What a stream tells of a reader's own write; counts in events are those of all readers. */
function toldOf({ event, data }: Received): Json {
  const { comment, reactionCounts, ...rest } = data.data
  if (comment === undefined) return { event, ...rest, reactionCounts }
  return { event, comment: { ...comment, replyCount: null, reactionCounts: null } }
}

/** One page of one tenant, and the names of what is on it. */
class Side {
  readonly #tenant: TestTenant
  readonly #key: Record<string, string>
  readonly #plain: Record<string, string>
  readonly #name: string
  /** In the order of their making. */
  readonly ids: { id: string; by: string }[] = []
  id = ''
  readonly #readers = new Map<string, string>()
  #streams: { who: string; stream: StreamClient }[] = []

  constructor({ tenant, key, plain }: (typeof tenants)[number], name: string) {
    this.#plain = plain
    this.#tenant = tenant
    this.#key = key
    this.#name = name
  }

  async begin(isBanned: boolean): Promise<void> {
    const call = (path: string, body: object) => service.call('POST', path, { headers: this.#key, body })
    this.id = (await call('/discussions', { externalId: this.#name })).json.id as string
    await service.call('PATCH', '/settings', { headers: this.#key, body: { suspectWords: ['suspect'] } })
    for (const who of ['mal', 'ann'] as const) {
      const { json } = await this.#write(who, 'POST', `/discussions/${this.id}/comments`, { body: `first of ${who}` })
      this.ids.push({ id: json.id as string, by: who })
      if (who === 'mal') await this.#write(who, 'POST', `/comments/${json.id}/reactions`, { type: 'like' })
      if (who === 'mal' && isBanned) await call(`/readers/${json.author.id}/ban`, { shadow: true })
      this.#readers.set(who, json.author.id as string)
    }
    for (const who of ['mal', 'ann', 'key']) this.#streams.push({ who, stream: await this.#open(who, 0) })
  }

  async #open(who: string, after: number): Promise<StreamClient> {
    const at = `${service.url}/api/v1/stream/${this.id}?lastEventId=${after}`
    if (who === 'key') return openStream(at, this.#plain)
    const { json } = await this.#write(who, 'POST', '/stream/ticket', { discussionId: this.id })
    return openStream(`${at}&ticket=${json.ticket}`)
  }

  /**
   * What Mal's stream tells of his writes. Each stream has each event of its audience once and in
   * order, a replay of any part the same, and a subscription what a key's stream has.
   */
  async streamed(): Promise<unknown> {
    const log = await service.app.db.query<{ seq: number; audience: string; recipientId: string | null }>(EVENTS, [
      this.id,
    ])
    const wanted = (who: string, after: number): number[] =>
      log
        .filter(({ audience, recipientId }) => {
          if (who === 'key') return audience !== 'own'
          const isToThem = recipientId !== null && recipientId === this.#readers.get(who)
          return audience === 'public' ? !isToThem : audience !== 'tenant' && isToThem
        })
        .flatMap(({ seq }) => (seq > after ? [seq] : []))
    const variables = { discussionId: this.id, lastEventId: '0' }
    const graphql = subscribe({ url: service.url, headers: this.#plain, variables })
    const late = Math.floor(log.length / 2)
    for (const who of ['mal', 'ann', 'key']) {
      this.#streams.push({ who, stream: await this.#open(who, 0) })
      const half = await this.#open(who, late)
      await vi.waitFor(() => expect(half.seqs, who).toEqual(wanted(who, late)))
      half.close()
    }
    for (const { who, stream } of this.#streams) {
      await vi.waitFor(() => expect(stream.seqs, who).toEqual(wanted(who, 0)))
    }
    await vi.waitFor(() => expect(graphql.received.map(({ seq }) => seq)).toEqual(wanted('key', 0)))
    graphql.close()
    const of = (who: string) => this.#streams.filter((each) => each.who === who).map(({ stream }) => stream.events)
    this.#checkAnn(of('ann').flat())
    const [live = [], replayed = []] = of('mal').map((events) => events.filter(byMal))
    const withoutText = ({ event, data }: Received) => ({ event, seq: data.seq, status: data.data.comment?.status })
    expect(replayed.map(withoutText)).toEqual(live.map(withoutText))
    for (const { stream } of this.#streams.splice(0)) stream.close()
    return this.#named(live.map(toldOf))
  }

  isBanned = false

  /** Of what Mal does after his ban, Ann's stream has what leaves her view, without its text. */
  #checkAnn(events: readonly Received[]): void {
    if (!this.isBanned) return
    for (const { event, data } of events.filter(byMal)) {
      const { comment } = data.data
      if (event === 'reaction_toggled') expect(data.seq).toBeLessThanOrEqual(3)
      else if (event !== 'comment_created') expect([comment.id, comment.body]).toEqual([this.ids[0]?.id, null])
      else expect(comment.id).toBe(this.ids[0]?.id)
    }
  }

  async #write(who: string, method: string, path: string, body?: object) {
    const headers = { ...this.#plain, ...(await this.#tenant.as(`${who}-${this.#name}`)) }
    return service.call(method, path, { headers, ...(body && { body }) })
  }

  /** What the reader is answered. Ann, who does not see what Mal writes, acts on her own. */
  async run({ kind, who, target }: Step): Promise<unknown> {
    const known = this.ids.filter(({ by }) => who === 'mal' || by === 'ann')
    const id = known[target % known.length]?.id ?? ''
    const at = `/comments/${id}`
    const body = { body: `${kind} ${this.ids.length} ${target}` }
    const write = () => {
      if (kind === 'create') return this.#write(who, 'POST', `/discussions/${this.id}/comments`, body)
      if (kind === 'reply')
        return this.#write(who, 'POST', `/discussions/${this.id}/comments`, { ...body, parentId: id })
      if (kind === 'edit' || kind === 'suspect') return this.#write(who, 'PATCH', at, body)
      if (kind === 'delete') return this.#write(who, 'DELETE', at, { asAuthor: true })
      if (kind === 'report') return this.#write(who, 'POST', `${at}/report`, { reason: 'spam' })
      if (kind === 'toggle') return this.#write(who, 'POST', `${at}/reactions`, { type: 'like' })
      if (kind === 'set') return this.#write(who, 'PUT', `${at}/reaction`, { type: 'love' })
      return this.#write(who, 'DELETE', `${at}/reaction`)
    }
    const { status, json } = await write()
    if ((kind === 'create' || kind === 'reply') && status === 201) this.ids.push({ id: json.id as string, by: who })
    return this.#named({ status, json: json ?? null })
  }

  /** All that the reader gets of the page. */
  async view(who: string): Promise<unknown> {
    const headers = { ...this.#plain, ...(await this.#tenant.as(`${who}-${this.#name}`)) }
    const ways: ReadPage[] = [
      ...['newest', 'oldest'].map((sort) => byRest(service, this.id, `limit=2&sort=${sort}`, headers)),
      byRest(service, this.id, 'limit=100&replies=3', headers),
      byGraphql(service, this.id, 'oldest', headers),
    ]
    const lists = []
    for (const read of ways) lists.push([...(await reachableBy(read)).values()])
    const top = [...(await reachableBy(byRest(service, this.id, 'limit=2&sort=top', headers))).values()]
    const single = []
    for (const { id } of this.ids) {
      const { json } = await service.call('GET', `/comments/${id}`, { headers })
      const reactions = await service.call('GET', `/comments/${id}/reactions?limit=100`, { headers })
      single.push(json, { status: reactions.status, data: reactions.json.data })
    }
    const own = []
    for (const status of ['', '&status=approved', '&status=pending', '&status=deleted']) {
      const at = `/readers/me/comments?limit=100&discussionId=${this.id}${status}`
      own.push((await service.call('GET', at, { headers })).json)
    }
    const page = (await service.call('GET', `/discussions/${this.id}`, { headers })).json
    const { commentCount, state } = page
    const byId = top.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    return this.#named({ lists, top: byId, single, own, commentCount, state })
  }

  /** Ann sees nothing of what Mal has done since his ban. */
  async checkOthers(): Promise<void> {
    const headers = { ...this.#plain, ...(await this.#tenant.as(`ann-${this.#name}`)) }
    const reached = await reachableBy(byRest(service, this.id, 'limit=100', headers))
    for (const [index, { id, by }] of this.ids.entries()) {
      if (by === 'mal' && index > 0) expect(reached.has(id)).toBe(false)
    }
    for (const { id, reactionCounts, viewerReaction, replyCount } of reached.values()) {
      const own = viewerReaction === null ? 0 : 1
      const before = id === this.ids[0]?.id ? 1 : 0
      const total = Object.values(reactionCounts).reduce((sum, n) => sum + n, 0)
      expect(total).toBe(own + before)
      expect(replyCount).toBe([...reached.values()].filter(({ parentId }) => parentId === id).length)
    }
    const { commentCount } = (await service.call('GET', `/discussions/${this.id}`, { headers: this.#plain })).json
    expect(commentCount).toBe([...reached.values()].filter(({ status }) => status === 'approved').length)
  }

  /** Without what differs between two pages: ids get the names of their order, times none. */
  #named(value: unknown): unknown {
    const names = new Map(this.ids.map(({ id }, n) => [id, `comment ${n}`]))
    const text = JSON.stringify(value, (key, each: unknown) => {
      if (key === 'requestId' || key === 'instance') return undefined
      if ((key === 'author' || key === 'reader') && typeof each === 'object' && each !== null)
        return (each as { externalId: string }).externalId
      if (key.endsWith('At')) return each === null ? null : 'a time'
      if (key === 'discussionId') return 'the page'
      return typeof each === 'string' ? (names.get(each) ?? each) : each
    })
    return JSON.parse(text)
  }
}

test(
  'a reader banned in shadow is answered, and sees, what a reader without a ban does',
  { timeout: 600_000 },
  async () => {
    const hold = async (steps: Step[]): Promise<void> => {
      const name = `page-${pages++}`
      const [shadowed, free] = tenants.map((each) => new Side(each, name)) as [Side, Side]
      await shadowed.begin(true)
      await free.begin(false)
      shadowed.isBanned = true
      for (const [n, each] of steps.entries()) {
        const [inShadow, asEver] = [await shadowed.run(each), await free.run(each)]
        if (each.who === 'mal') expect(inShadow, JSON.stringify(each)).toEqual(asEver)
        if (n % 4 === 3) expect(await shadowed.view('mal')).toEqual(await free.view('mal'))
      }
      expect(await shadowed.view('mal')).toEqual(await free.view('mal'))
      await shadowed.checkOthers()
      expect(await shadowed.streamed()).toEqual(await free.streamed())
    }
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 24, size: 'max' }), hold), {
      numRuns: effort(40, 1),
      examples: [[BEHIND_A_TOMBSTONE]],
    })
  },
)
