import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { effort, forTime } from '../harness/effort.ts'
import { byGraphql, byRest, reachableBy, type ReadPage } from '../harness/reachable.ts'
import { startService, type TestService, type TestTenant } from '../harness/service.ts'

// Mal is banned in shadow in one tenant and not in its twin, and does the same in both. What he
// gets in the one is what he gets in the other.

let service: TestService
let tenants: readonly { tenant: TestTenant; key: Record<string, string>; plain: Record<string, string> }[]
beforeAll(async () => {
  service = await startService({ worker: false })
  const both = [service, await service.addTenant('twin')].map(async (tenant) => {
    const key = { 'x-api-key': tenant.apiKey }
    const { json } = await service.call('POST', '/keys', { headers: key, body: { label: 'plain', capabilities: [] } })
    return { tenant, key, plain: { 'x-api-key': json.key as string } }
  })
  tenants = await Promise.all(both)
})
afterAll(() => service.close())

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

let pages = 0

/** One page of one tenant, and the names of what is on it. */
class Side {
  readonly #tenant: TestTenant
  readonly #key: Record<string, string>
  readonly #plain: Record<string, string>
  readonly #name: string
  /** In the order of their making. */
  readonly ids: { id: string; by: string }[] = []
  id = ''

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
    for (const { id } of this.ids) single.push((await service.call('GET', `/comments/${id}`, { headers })).json)
    const page = (await service.call('GET', `/discussions/${this.id}`, { headers })).json
    const { commentCount, state } = page
    const byId = top.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    return this.#named({ lists, top: byId, single, commentCount, state })
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
      if (key === 'author' && typeof each === 'object' && each !== null)
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
  { timeout: 120_000 },
  async () => {
    const hold = forTime(20_000, async (steps: Step[]) => {
      const name = `page-${pages++}`
      const [banned, free] = tenants.map((each) => new Side(each, name)) as [Side, Side]
      await banned.begin(true)
      await free.begin(false)
      for (const [n, each] of steps.entries()) {
        const [inShadow, asEver] = [await banned.run(each), await free.run(each)]
        if (each.who === 'mal') expect(inShadow, JSON.stringify(each)).toEqual(asEver)
        if (n % 4 === 3) expect(await banned.view('mal')).toEqual(await free.view('mal'))
      }
      expect(await banned.view('mal')).toEqual(await free.view('mal'))
      await banned.checkOthers()
    })
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 24, size: 'max' }), hold), {
      numRuns: effort(40),
    })
  },
)

test('a reader banned in shadow counts their own, and gets the truth once the ban is lifted', async () => {
  const [{ tenant, key, plain }] = tenants as [(typeof tenants)[number]]
  const at = `/discussions/by-external/lifted/comments`
  const mal = { ...plain, ...(await tenant.as('lifted')) }
  const { author } = (await service.call('POST', at, { headers: mal, body: { body: 'before' } })).json
  await service.call('POST', `/readers/${author.id}/ban`, { headers: key, body: { shadow: true } })
  const { id, status } = (await service.call('POST', at, { headers: mal, body: { body: 'in shadow' } })).json
  const get = async () => (await service.call('GET', `/comments/${id}`, { headers: mal })).json.status
  expect([status, await get()]).toEqual(['approved', 'approved'])
  const body = { externalIds: ['lifted', 'unknown'] }
  const counts = await service.call('POST', '/discussions/counts', { headers: mal, body })
  expect(counts.json.data.map((each: { commentCount: number }) => each.commentCount)).toEqual([2, 0])
  await service.call('POST', `/readers/${author.id}/unban`, { headers: key })
  expect(await get()).toBe('pending')
  expect((await service.call('GET', at, { headers: mal })).json.data).toHaveLength(1)
})

test('the export of a reader has the reactions that only they see', async () => {
  const [{ tenant, key, plain }] = tenants as [(typeof tenants)[number]]
  const mal = { ...plain, ...(await tenant.as('exported')) }
  const made = await service.call('POST', '/discussions/by-external/exported/comments', {
    headers: mal,
    body: { body: 'one' },
  })
  const { id, author } = made.json
  await service.call('POST', `/readers/${author.id}/ban`, { headers: key, body: { shadow: true } })
  await service.call('PUT', `/comments/${id}/reaction`, { headers: mal, body: { type: 'love' } })
  const { json } = await service.call('GET', `/readers/${author.id}/export`, { headers: key })
  expect(json.reactions).toEqual([{ commentId: id, type: 'love', updatedAt: expect.any(String) }])
})
