import fc from 'fast-check'
import { expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { type Json, useService } from '../harness/service.ts'

/** What the model knows of a comment. */
interface Post {
  id: string
  author: Person | null
  parent: Post | null
  status: 'pending' | 'approved' | 'rejected' | 'deleted'
  wasApproved: boolean
  /** Whom its text names. */
  named: Person[]
  /** Whether its author sees a decision on it. */
  hasDecision: boolean
}

interface Entry {
  kind: 'reply' | 'mention' | 'decision'
  post: Post
  isRead: boolean
}

class Person {
  /** Oldest first. */
  inbox: Entry[] = []
  muted = new Set<Person>()
  off = new Set<string>()
  inShadow = false

  readonly id: string
  readonly headers: Record<string, string>

  constructor(id: string, headers: Record<string, string>) {
    this.id = id
    this.headers = headers
  }

  sees({ kind, post }: Entry): boolean {
    if (kind === 'decision') return post.author === this && post.hasDecision && !this.inShadow
    const { author, status } = post
    return status === 'approved' && author !== null && author !== this && !this.muted.has(author)
  }

  tell(kind: Entry['kind'], post: Post): void {
    if (this.off.has(kind) || (kind !== 'decision' && post.author !== null && this.muted.has(post.author))) return
    const earlier = this.inbox.find((entry) => entry.post === post)
    if (earlier !== undefined && kind !== 'decision') return
    this.inbox = [...this.inbox.filter((entry) => entry !== earlier), { kind, post, isRead: false }]
  }
}

const service = useService()

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  service.call(method, path, { headers, ...(body && { body }) })

/** `a` and `b` choose among what there is. */
interface Step {
  kind: keyof typeof STEPS
  a: number
  b: number
}

const choose = <T>(list: readonly T[], n: number): T | undefined => list[n % list.length]

class World {
  page = newId()
  people: Person[] = []
  posts: Post[] = []
  isHeld = false

  async join(): Promise<Person> {
    const headers = await service.as(newId())
    const { json } = await call('GET', '/readers/me', undefined, headers)
    return new Person(json.id as string, headers)
  }

  person(n: number): Person {
    const found = choose(this.people, n)
    if (found === undefined) throw new Error('there is nobody')
    return found
  }

  /** A text that names these, and whom of them it does name: those who have written here. */
  text(names: readonly Person[]): { body: string; named: Person[] } {
    const body = `text ${newId()} ${names.map(({ id }) => `[@](reader:${id})`).join(' ')}`
    const isHere = (who: Person) => this.posts.some(({ author, status }) => author === who && status === 'approved')
    return { body: body.trim(), named: names.filter(isHere) }
  }

  async post(author: Person, parent: Post | null, names: readonly Person[] = []): Promise<void> {
    const { body: text, named } = this.text(names)
    const body = { body: text, ...(parent && { parentId: parent.id }) }
    const answer = await call('POST', `/discussions/by-external/${this.page}/comments`, body, author.headers)
    if (parent !== null && parent.status !== 'approved' && !author.inShadow) expect(answer.status).toBe(404)
    if (answer.status !== 201) return
    const isApproved = !this.isHeld && !author.inShadow
    const status = isApproved ? 'approved' : 'pending'
    const id = answer.json.id as string
    const post: Post = { id, author, parent, status, wasApproved: false, named, hasDecision: false }
    this.posts.push(post)
    if (isApproved) this.show(post)
  }

  /** A post comes into view. */
  show(post: Post): void {
    const to = post.parent?.status === 'deleted' ? null : post.parent?.author
    if (!post.wasApproved && to != null && to !== post.author) to.tell('reply', post)
    post.wasApproved = true
    this.tellNamed(post, post.named)
  }

  tellNamed(post: Post, named: readonly Person[]): void {
    for (const who of named) if (this.people.includes(who) && who !== post.author) who.tell('mention', post)
  }

  /** An edit of a text in view; it leaves the view where texts wait. */
  async edit(post: Post, names: readonly Person[]): Promise<void> {
    if (post.author === null || post.status !== 'approved') return
    const { body, named } = this.text(names)
    const { status } = await call('PATCH', `/comments/${post.id}`, { body }, post.author.headers)
    expect(status).toBe(200)
    const before = post.named
    post.named = names.filter((who) => named.includes(who) || before.includes(who))
    post.hasDecision = false
    post.status = this.isHeld || post.author.inShadow ? 'pending' : 'approved'
    if (post.status === 'approved')
      this.tellNamed(
        post,
        post.named.filter((who) => !before.includes(who)),
      )
  }

  async judge(post: Post, verb: 'approve' | 'reject' | 'delete'): Promise<void> {
    const [method, path] = verb === 'delete' ? ['DELETE', ''] : ['POST', `/${verb}`]
    const { status } = await call(method ?? '', `/comments/${post.id}${path}`, verb === 'delete' ? undefined : {})
    const to = ({ approve: 'approved', reject: 'rejected', delete: 'deleted' } as const)[verb]
    if (status >= 300 || post.status === to) return
    expect(post.status).not.toBe('deleted')
    post.status = to
    post.hasDecision = post.author !== null && !post.author.inShadow
    if (post.hasDecision) post.author?.tell('decision', post)
    if (verb === 'approve') this.show(post)
  }

  async check(who: Person): Promise<void> {
    const expected = who.inbox.filter((entry) => who.sees(entry)).toReversed()
    const shown = expected.map(({ kind, post, isRead }) => [kind, post.id, isRead])
    const get = async (path: string): Promise<Json> => {
      const answer = await call('GET', `/readers/me/notifications${path}`, undefined, who.headers)
      expect(answer.status, answer.text).toBe(200)
      return answer.json
    }
    const { data } = await get('?limit=100')
    expect(data.map((each: Json) => [each.kind, each.comment.id, each.readAt !== null])).toEqual(shown)
    for (const { kind, comment, actor } of data) {
      if (kind !== 'decision') expect([comment.status, actor.id]).toEqual(['approved', comment.author.id])
      else expect(comment.decision).not.toBeNull()
    }
    const unread = expected.filter(({ isRead }) => !isRead)
    const left = await get('?limit=100&unread=true')
    expect(left.data.map((each: Json) => each.comment.id)).toEqual(unread.map(({ post }) => post.id))
    expect(await get('/count')).toEqual({ count: unread.length, hasMore: false })
  }

  /** What the tenant's backend would mail. */
  async checkPending(): Promise<void> {
    const found = new Map<string, string[]>()
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = cursor === '' ? '' : `?cursor=${cursor}`
      const { json } = await call('GET', `/notifications/pending${query}`)
      for (const { reader, notifications } of json.data as Json[]) {
        const ids = notifications.map((each: Json) => each.comment.id as string)
        found.set(reader.id, [...(found.get(reader.id) ?? []), ...ids])
      }
      cursor = json.nextCursor as string | null
    }
    for (const who of this.people) {
      const unread = who.inbox.filter((entry) => !entry.isRead && who.sees(entry))
      expect(found.get(who.id) ?? []).toEqual(unread.map(({ post }) => post.id))
    }
  }
}

const STEPS = {
  post: (world: World, a: number) => world.post(world.person(a), null),
  reply: async (world: World, a: number, b: number) => {
    const parent = choose(world.posts, b)
    if (parent !== undefined) await world.post(world.person(a), parent)
  },
  mention: (world: World, a: number, b: number) => {
    const named = [world.person(b), world.person(b + 1)]
    return world.post(world.person(a), a > 5 ? (choose(world.posts, b) ?? null) : null, named)
  },
  edit: async (world: World, a: number, b: number) => {
    const post = choose(world.posts, a)
    if (post !== undefined) await world.edit(post, b > 8 ? [] : [world.person(b), world.person(b + 1)].slice(b % 2))
  },
  hold: async (world: World, a: number) => {
    world.isHeld = a % 2 === 0
    await call('PATCH', '/settings', { moderationMode: world.isHeld ? 'pre' : 'none' })
  },
  approve: async (world: World, a: number) => {
    const post = choose(world.posts, a)
    if (post !== undefined) await world.judge(post, 'approve')
  },
  reject: async (world: World, a: number) => {
    const post = choose(world.posts, a)
    if (post !== undefined) await world.judge(post, 'reject')
  },
  remove: async (world: World, a: number) => {
    const post = choose(world.posts, a)
    if (post !== undefined) await world.judge(post, 'delete')
  },
  removeOwn: async (world: World, a: number) => {
    const post = choose(world.posts, a)
    if (post?.author == null || post.status === 'deleted') return
    const { status } = await call('DELETE', `/comments/${post.id}`, undefined, post.author.headers)
    expect(status).toBe(204)
    post.status = 'deleted'
    post.hasDecision = false
  },
  mute: async (world: World, a: number, b: number) => {
    const [who, whom] = [world.person(a), world.person(b)]
    const method = who.muted.has(whom) ? 'DELETE' : 'PUT'
    const { status } = await call(method, `/readers/${whom.id}/mute`, undefined, who.headers)
    if (status < 300) who.muted[method === 'PUT' ? 'add' : 'delete'](whom)
  },
  shadow: async (world: World, a: number) => {
    const who = world.person(a)
    who.inShadow = !who.inShadow
    await call('POST', `/readers/${who.id}/${who.inShadow ? 'ban' : 'unban'}`, who.inShadow ? { shadow: true } : {})
  },
  prefer: async (world: World, a: number, b: number) => {
    const who = world.person(a)
    const kind = (['reply', 'mention', 'decision'] as const)[b % 3] ?? 'reply'
    const isOff = who.off.has(kind)
    await call('PATCH', '/readers/me/preferences', { [kind]: isOff ? 'all' : 'none' }, who.headers)
    who.off[isOff ? 'delete' : 'add'](kind)
  },
  read: async (world: World, a: number, b: number) => {
    const who = world.person(a)
    const { json } = await call('GET', '/readers/me/notifications?limit=100', undefined, who.headers)
    const one = choose(json.data as Json[], b)
    if (one === undefined) return
    await call('POST', '/readers/me/notifications/read', { ids: [one.id] }, who.headers)
    for (const entry of who.inbox) if (entry.post.id === one.comment.id) entry.isRead = true
  },
  readAll: async (world: World, a: number) => {
    const who = world.person(a)
    const before = new Date(Date.now() + 1000).toISOString()
    await call('POST', '/readers/me/notifications/read', { before }, who.headers)
    for (const entry of who.inbox) if (who.sees(entry)) entry.isRead = true
  },
  erase: async (world: World, a: number) => {
    const who = world.person(a)
    expect((await call('DELETE', `/readers/${who.id}`)).status).toBe(204)
    const gone = world.posts.filter(({ author }) => author === who)
    for (const post of gone) Object.assign(post, { author: null, status: 'deleted', hasDecision: false })
    for (const each of world.people) each.inbox = each.inbox.filter(({ post }) => !gone.includes(post))
    world.people = [...world.people.filter((each) => each !== who), await world.join()]
  },
} satisfies Record<string, (world: World, a: number, b: number) => Promise<void>>

const KINDS = Object.keys(STEPS) as (keyof typeof STEPS)[]

// Replies and judgements are what tells: most steps are of these.
const step = fc.record<Step>({
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Step['kind']>('reply', 'mention', 'approve', 'reject', 'edit', 'hold') },
    { weight: 2, arbitrary: fc.constantFrom(...KINDS.filter((kind) => kind !== 'erase')) },
    { weight: 1, arbitrary: fc.constantFrom<Step['kind']>('reply', 'reply', 'erase') },
  ),
  a: fc.nat(11),
  b: fc.nat(11),
})

test('nobody is told of what they cannot see, and the count is that of the list, after any steps', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
      const world = new World()
      await call('PATCH', '/settings', { moderationMode: 'none' })
      for (let n = 0; n < 3; n++) world.people.push(await world.join())
      await world.post(world.person(0), null)
      for (const { kind, a, b } of steps) {
        await STEPS[kind](world, a, b)
        await world.check(world.person(b))
      }
      for (const who of world.people) await world.check(who)
      await world.checkPending()
    }),
    { numRuns: effort(80, 2) },
  )
}, 600_000)
