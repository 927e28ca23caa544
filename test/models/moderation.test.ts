import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'

import { effort } from '../harness/effort.ts'
import {
  type Command,
  type ModelComment,
  ModerationModel,
  READERS,
  REPORT_THRESHOLD,
} from '../harness/moderation-model.ts'
import { useKey, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()
const plain = useKey(service)
const identities = new Map<string, Record<string, string>>()

beforeAll(async () => {
  // A reader by a key that may moderate would delete as a moderator.
  for (const reader of READERS) identities.set(reader, { ...plain, ...(await service.as(reader)) })
  await setting({ reportThreshold: REPORT_THRESHOLD })
})

const setting = (body: object) => service.call('PATCH', '/settings', { body })
const read = async (path: string) => (await service.call('GET', path, { headers: plain })).json

const EVENTS = unnamed(
  'SELECT seq, type, audience, data FROM events WHERE discussion_id = $1 AND seq > $2 ORDER BY seq',
)

interface EventRow {
  seq: number
  type: string
  audience: string
  data: { comment?: { status: string; body: string | null; bodyHtml: string | null } }
}

/** Few, so that the commands of a history meet on the same ones. */
const MAX_COMMENTS = 7

/** One discussion of the service, driven beside its model. */
class Run {
  readonly model = new ModerationModel()
  readonly ids = new Map<ModelComment, string>()
  readonly #id: string
  #seq = 0

  constructor(id: string) {
    this.#id = id
  }

  async step(command: Command): Promise<void> {
    const { comments } = this.model
    const needsTarget = !['create', 'lock', 'unlock', 'archive', 'mode'].includes(command.kind)
    if (needsTarget && comments.length === 0) return
    if (/^(create|reply)$/.test(command.kind) && comments.length >= MAX_COMMENTS) return
    const target = needsTarget ? (comments[command.target % comments.length] ?? null) : null
    const answer = await this.#send(command, target)
    const expected = this.model.run(command, target)
    expect(answer.status < 300 ? 'ok' : answer.json.code, JSON.stringify(command)).toBe(expected)
    const made = comments.at(-1)
    if (made !== undefined && !this.ids.has(made)) this.ids.set(made, answer.json.id as string)
    const checks = [this.#checkDiscussion(), this.#checkEvents(), this.#checkLevels()]
    if (target !== null) checks.push(this.#checkComment(target))
    await Promise.all(checks)
  }

  #send({ kind, actor }: Command, target: ModelComment | null) {
    const id = target === null ? '' : (this.ids.get(target) ?? '')
    const headers = identities.get(actor) ?? {}
    const post = (path: string, body?: object, as = {}) =>
      service.call('POST', path, { headers: as, ...(body === undefined ? {} : { body }) })
    const comments = `/discussions/${this.#id}/comments`
    const edit = { headers, body: { body: `text ${Math.random()}` } }
    if (kind === 'create') return post(comments, { body: 'text' }, headers)
    if (kind === 'reply') return post(comments, { body: 'text', parentId: id }, headers)
    if (kind === 'edit') return service.call('PATCH', `/comments/${id}`, edit)
    if (kind === 'delete') return service.call('DELETE', `/comments/${id}`, { headers })
    if (kind === 'report') return post(`/comments/${id}/report`, { reason: 'spam' }, headers)
    if (kind === 'mode') return setting({ moderationMode: this.model.mode === 'none' ? 'pre' : 'none' })
    return post(
      kind === 'lock' || kind === 'unlock' || kind === 'archive'
        ? `/discussions/${this.#id}/${kind}`
        : `/comments/${id}/${kind}`,
    )
  }

  async #checkDiscussion(): Promise<void> {
    const { state, commentCount, events } = this.model
    expect(await read(`/discussions/${this.#id}`)).toMatchObject({
      state,
      commentCount,
      lastEventId: String(events.length),
    })
  }

  async #checkEvents(): Promise<void> {
    const written = await service.app.db.query<EventRow>(EVENTS, [this.#id, this.#seq])
    expect(written.map(({ type, audience }) => `${type} ${audience}`)).toEqual(this.model.events.slice(this.#seq))
    for (const { audience, data } of written) {
      if (audience !== 'public' || data.comment === undefined || data.comment.status === 'approved') continue
      expect(data.comment).toMatchObject({ body: null, bodyHtml: null, author: null, editedAt: null, revision: 1 })
      expect(data.comment.status).toMatch(/^(withheld|deleted)$/)
    }
    expect(written.map(({ seq }) => seq)).toEqual(written.map((_, n) => this.#seq + n + 1))
    this.#seq = this.model.events.length
  }

  /** By its id. All that are in view are found in the levels, too. */
  async #checkComment(comment: ModelComment): Promise<void> {
    const seen = await read(`/comments/${this.ids.get(comment)}`)
    if (this.model.isInView(comment)) expect(seen).toMatchObject(this.#form(comment))
    else expect(seen.code).toBe('not_found')
  }

  async #checkLevels(): Promise<void> {
    const parents = this.model.comments.filter((comment) => this.model.repliesOf(comment).length > 0)
    for (const parent of [null, ...parents]) {
      const inView = this.model.repliesOf(parent).filter((comment) => this.model.isInView(comment))
      const query = parent === null ? '' : `&parentId=${this.ids.get(parent)}`
      const { data = [], code } = await read(`/discussions/${this.#id}/comments?limit=100&sort=oldest${query}`)
      const listed = data as { id: string; pinnedAt: string | null }[]
      const hidden = parent !== null && !this.model.isInView(parent)
      expect(code).toBe(hidden ? 'not_found' : undefined)
      const pinned = listed.filter(({ pinnedAt }) => pinnedAt !== null)
      // Two that are pinned in one millisecond have no order that the model knows.
      expect(listed.slice(0, pinned.length)).toEqual(pinned)
      const byId = listed.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      expect(listed.slice(pinned.length)).toEqual(byId.filter(({ pinnedAt }) => pinnedAt === null))
      expect(byId).toMatchObject(inView.map((comment) => this.#form(comment)))
    }
  }

  #form(comment: ModelComment): object {
    const { status, isPinned } = comment
    const text = status === 'approved' ? expect.any(String) : null
    const pinnedAt = isPinned ? expect.any(String) : null
    const shown = status === 'pending' || status === 'rejected' ? 'withheld' : status
    return {
      id: this.ids.get(comment),
      status: shown,
      replyCount: this.model.replyCount(comment),
      body: text,
      pinnedAt,
    }
  }
}

const command: fc.Arbitrary<Command> = fc
  .record({
    kind: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('create', 'reply', 'reply', 'reply') },
      {
        weight: 12,
        arbitrary: fc.constantFrom(
          'edit',
          'delete',
          'delete',
          'approve',
          'approve',
          'reject',
          'pin',
          'unpin',
          'report',
        ),
      },
      { weight: 1, arbitrary: fc.constantFrom('lock', 'unlock', 'unlock', 'unlock') },
      { weight: 1, arbitrary: fc.constant('mode') },
    ),
    actor: fc.constantFrom(...READERS),
    asModerator: fc.boolean(),
    target: fc.nat(MAX_COMMENTS),
  })
  .map(({ kind, actor, asModerator, target }): Command => ({
    kind,
    // Only readers write, edit and report; a key that acts as a moderator counts as one.
    actor: kind === 'delete' && asModerator ? 'moderator' : actor,
    target,
  }))

const FINALE = fc.record({
  archived: fc.array(command, { maxLength: 4 }),
  archives: fc.boolean(),
})

type History = [Command[], { archived: Command[]; archives: boolean }]

test(
  'states, counts, views and events agree with the model after every step of any history',
  { timeout: 600_000 },
  async () => {
    let runs = 0
    const history = fc.tuple(fc.array(command, { minLength: 10, maxLength: 40, size: 'max' }), FINALE)
    const hold = async ([commands, { archived, archives }]: History) => {
      await setting({ moderationMode: 'none' })
      const { json } = await service.call('POST', '/discussions', { body: { externalId: `history-${runs++}` } })
      const run = new Run(json.id as string)
      for (const each of commands) await run.step(each)
      if (!archives) return
      await run.step({ kind: 'archive', actor: 'moderator', target: 0 })
      for (const each of archived) await run.step(each)
    }
    await fc.assert(fc.asyncProperty(history, hold), { numRuns: effort(60, 4) })
  },
)
