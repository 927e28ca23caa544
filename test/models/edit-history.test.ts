import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { continueBanSweep } from '../../src/domains/moderation/ban-sweep.ts'
import { effort } from '../harness/effort.ts'
import { addGuest, addGuestSite, easeProofs, startHandingOut } from '../harness/guests.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { type Json, type TestService, type TestTenant, PATIENT, startService } from '../harness/service.ts'
import { ORIGIN, page, type TestSite } from '../harness/sites.ts'

// Readers may read what they could have read before, and nothing else. So the model needs no rule
// of moderation: it asks, as a reader does, for the comment before each edit.

let service: TestService
let tenant: TestTenant
let site: TestSite
let guest: Awaited<ReturnType<typeof addGuest>>
let plain: Record<string, string>
let mailer: Receiver
let stopMails: () => Promise<unknown>

/** A guest waits after any number of approvals here. */
const HOLD = 100

beforeAll(async () => {
  easeProofs()
  mailer = await startReceiver()
  service = await startService({ env: { ...PATIENT, WEBHOOK_CA_FILE: mailer.caFile }, worker: false })
  tenant = await service.addTenant('history-model')
  stopMails = await startHandingOut(service.app)
  const settings = { showEditHistory: true, suspectWords: ['suspect'], reportThreshold: 1 }
  site = await addGuestSite(service, tenant, { mailUrl: `${mailer.url}/mails`, settings, hold: HOLD })
  guest = await addGuest(site, mailer, 'gia@example.com')
  plain = { 'x-api-key': (await moderate('POST', '/keys', { label: 'plain', capabilities: [] })).json.key as string }
})
afterAll(async () => {
  await stopMails()
  await service.close()
  await mailer.close()
})

const moderate = (method: string, path: string, body?: object) =>
  service.call(method, path, { headers: { 'x-api-key': tenant.apiKey }, ...(body && { body }) })

const KINDS = [
  ...(['edit', 'edit', 'edit', 'edit', 'edit', 'suspect', 'suspect', 'approve', 'approve', 'approve'] as const),
  ...(['reject', 'report', 'none', 'pre', 'post', 'hold', 'neverHold', 'normal', 'shadow'] as const),
  ...(['ban', 'withhold', 'banReject', 'unban', 'unban', 'unban', 'reply', 'delete', 'remove', 'erase'] as const),
]
type Kind = (typeof KINDS)[number]

interface Author {
  isGuest: boolean
  ask: (method: string, path: string, body?: object) => Promise<{ status: number; json: Json }>
}

const guestAuthor = (): Author => ({
  isGuest: true,
  ask: (method, path, body) =>
    site.ask(method, method === 'GET' ? `${path}&signedIn=1` : path, { token: guest.token, ...(body && { body }) }),
})

async function readerAuthor(): Promise<Author> {
  const headers = { ...(await tenant.as(`reader-${newId()}`)), ...plain }
  return { isGuest: false, ask: (method, path, body) => service.call(method, path, { headers, ...(body && { body }) }) }
}

let texts = 0

/** One comment, and what its readers may read. */
class Run {
  readonly #author: Author
  #id = ''
  #readerId = ''
  #discussionId = ''
  /** All that the author has written, the newest first. */
  #written: string[] = []
  /** Of these, what readers could read until an edit replaced it. */
  #public: string[] = []
  #isGone = false
  /** Erasure leaves nothing of the reader: the comment has no author any more. */
  #isErased = false

  constructor(author: Author) {
    this.#author = author
  }

  async begin(isSuspect: boolean): Promise<void> {
    const body = this.#text(isSuspect)
    // A site begins ten discussions of a reader in an hour.
    const at = this.#author.isGuest ? page(`${ORIGIN}/history`) : ''
    const path = at === '' ? `/discussions/by-external/${newId()}/comments` : `/comments${at}`
    const { status, json } = await this.#author.ask('POST', path, { body })
    expect(status, JSON.stringify(json)).toBe(201)
    this.#id = json.id
    this.#discussionId = json.discussionId
    this.#readerId = json.author.id
    this.#written = [body]
    await this.#check('begin')
  }

  async step(kind: Kind): Promise<void> {
    // There is one guest for all histories, and a ban ends their token.
    if (this.#author.isGuest && /^(ban|banReject|withhold|erase)$/.test(kind)) return
    if (kind === 'edit' || kind === 'suspect') await this.#edit(kind === 'suspect')
    else await this.#act(kind)
    await this.#check(kind)
  }

  #text(isSuspect: boolean): string {
    return `${isSuspect ? 'suspect ' : ''}text ${++texts}`
  }

  async #edit(isSuspect: boolean): Promise<void> {
    const seen = await this.#seen()
    const body = this.#text(isSuspect)
    const { status } = await this.#author.ask('PATCH', `/comments/${this.#id}`, { body })
    if (status !== 200) return
    if (seen !== null) this.#public.unshift(seen)
    this.#written.unshift(body)
  }

  async #act(kind: Exclude<Kind, 'edit' | 'suspect'>): Promise<unknown> {
    const comment = `/comments/${this.#id}`
    const reader = `/readers/${this.#readerId}`
    switch (kind) {
      case 'approve':
      case 'reject':
        return moderate('POST', `${comment}/${kind}`)
      case 'report':
        return service.call('POST', `${comment}/report`, { headers: await someone(), body: { reason: 'spam' } })
      case 'none':
      case 'pre':
      case 'post':
        return moderate('PATCH', '/settings', { moderationMode: kind })
      case 'hold':
      case 'normal':
        return moderate('PUT', `${reader}/trust`, { trust: kind })
      case 'neverHold':
        return moderate('PUT', `${reader}/trust`, { trust: 'never_hold' })
      case 'shadow':
        return moderate('POST', `${reader}/ban`, { shadow: true })
      case 'ban':
        return moderate('POST', `${reader}/ban`, {})
      case 'withhold':
        return this.#sweep('withhold')
      case 'banReject':
        return this.#sweep('reject')
      case 'unban':
        return moderate('POST', `${reader}/unban`)
      case 'reply': {
        const body = { body: 'a reply', parentId: this.#id }
        const at = `/discussions/${this.#discussionId}/comments`
        return service.call('POST', at, { headers: { ...(await someone()), 'x-api-key': tenant.apiKey }, body })
      }
      case 'delete':
        return this.#end(this.#author.ask('DELETE', comment, this.#author.isGuest ? undefined : { asAuthor: true }))
      case 'remove':
        return this.#end(moderate('DELETE', comment), 204)
      case 'erase':
        await this.#end(moderate('DELETE', reader))
        this.#isErased = true
    }
    return undefined
  }

  async #sweep(comments: 'withhold' | 'reject'): Promise<void> {
    await moderate('POST', `/readers/${this.#readerId}/ban`, { comments })
    while (await continueBanSweep(service.app, new AbortController().signal)) continue
  }

  async #end(asked: Promise<{ status: number; json: Json }>, expected = this.#isErased ? 404 : 204): Promise<void> {
    const { status, json } = await asked
    expect(status, JSON.stringify(json)).toBe(expected)
    this.#isGone = true
  }

  /** The text that a reader gets now; null for none. */
  async #seen(): Promise<string | null> {
    const { status, json } = await service.call('GET', `/comments/${this.#id}`, { headers: plain })
    return status === 200 ? (json.body as string | null) : null
  }

  async #check(kind: string): Promise<void> {
    const seen = await this.#seen()
    const path = `/comments/${this.#id}/history?limit=100`
    const ofPublic = seen === null ? [] : [seen, ...this.#public]
    const viewers = [plain, { ...(await someone()), ...plain }, { 'x-api-key': tenant.apiKey }]
    const [own, ...read] = await Promise.all([
      this.#author.ask('GET', path),
      ...viewers.map((headers) => service.call('GET', path, { headers })),
    ])
    expect(read.map(bodiesOf), kind).toEqual(viewers.map(() => ofPublic))
    expect(bodiesOf(own), kind).toEqual(this.#isGone ? [] : this.#written)
  }
}

/** Another reader each time, who has not reported yet. */
const someone = async () => ({ ...(await tenant.as(`cat-${newId()}`)), ...plain })

function bodiesOf({ status, json }: { status: number; json: Json }): string[] {
  if (status === 404) return []
  expect(status, JSON.stringify(json)).toBe(200)
  return json.data.map(({ body }: { body: string }) => body)
}

type History = [{ isGuest: boolean; isSuspect: boolean }, Kind[]]

const history: fc.Arbitrary<History> = fc.tuple(
  fc.record({ isGuest: fc.boolean(), isSuspect: fc.boolean() }),
  fc.array(fc.constantFrom(...KINDS), { minLength: 10, maxLength: 20, size: 'max' }),
)

/** Each way out of view, between edits. */
const WAYS_OUT: Kind[] = ['suspect', 'report', 'reject', 'withhold', 'banReject', 'shadow', 'pre', 'hold']
const EXAMPLES: [History][] = [true, false].map((isGuest) => [
  [
    { isGuest, isSuspect: false },
    [
      'approve',
      ...WAYS_OUT.flatMap((way): Kind[] => ['edit', way, 'edit', 'unban', 'none', 'normal', 'approve', 'edit']),
    ],
  ],
])

test(
  'readers read the texts that they could have read before an edit, after any history',
  { timeout: 600_000 },
  async () => {
    const hold = async ([{ isGuest, isSuspect }, kinds]: History) => {
      await moderate('PATCH', '/settings', { moderationMode: 'none' })
      await moderate('POST', `/readers/${guest.reader.id}/unban`)
      await moderate('PUT', `/readers/${guest.reader.id}/trust`, { trust: 'normal' })
      const run = new Run(isGuest ? guestAuthor() : await readerAuthor())
      await run.begin(isSuspect)
      for (const kind of kinds) await run.step(kind)
    }
    await fc.assert(fc.asyncProperty(history, hold), { numRuns: effort(60, 4), examples: EXAMPLES })
  },
)
