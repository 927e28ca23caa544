import { createGraphqlClient } from 'engagement-service/graphql'
import { arrange, commentsOf } from 'engagement-service/graphql/lists'
import { SvelteMap } from 'svelte/reactivity'

import { type Comment, CREATE, type Discussion, EVENTS, HELD, PAGE, type Reader, REPLIES, TOGGLE } from './documents.ts'

/** The page of the article, and how many comments it loads at a time. */
const ARTICLE = { externalId: 'night-trains', first: 10 }
/** The service does not know it yet: it takes no reactions and replies. */
export const isDraft = (id: string): boolean => id.startsWith('new-')
/** Whether it waits for a moderator, or was rejected by one. Its author alone sees it. */
const isHeld = ({ status }: Comment): boolean => status === 'pending' || status === 'rejected'
const textOf = (html = ''): string => new DOMParser().parseFromString(html, 'text/html').body.innerText.trim()

/** The comments of a page by their ids, and the lists that show them. */
export class Thread {
  readonly comments = new SvelteMap<string, Comment>()
  /** By the comment that is replied to; null for the page itself. Ids of what is loaded. */
  readonly lists = new SvelteMap<string | null, { ids: string[]; hasNextPage: boolean; endCursor?: string | null }>()
  count = $state(0)
  reader = $state<Reader | null>(null)
  readonly held = $derived([...this.comments.values()].filter(isHeld))
  #drafts: Comment[] = []
  #isFollowed = false
  readonly #client = createGraphqlClient({
    url: `${import.meta.env.ENGAGEMENT_URL}/graphql`,
    token: async () => {
      const answer = await fetch('/token', { method: 'POST' })
      if (!answer.ok) throw new Error(`/token answered ${answer.status}`)
      return answer.json()
    },
    // The page was away for so long that the service cannot replay all events since.
    reload: async () => (await this.#load())?.lastEventId ?? '0',
  })

  async begin(): Promise<void> {
    const discussion = await this.#load()
    if (discussion === null || this.#isFollowed) return
    this.#isFollowed = true
    // A rejection is no event for a page that could not show the comment before.
    const isWaiting = () => this.held.some(({ status }) => status === 'pending')
    setInterval(() => isWaiting() && this.#loadHeld(discussion.id).catch(console.warn), 10_000)
    const request = { query: EVENTS, variables: { discussionId: discussion.id, lastEventId: discussion.lastEventId } }
    type Data = { discussionEvents: { data: { comment?: Comment; tombstones?: Comment[] } } }
    for await (const { data } of this.#client.iterate<Data>(request)) {
      for (const comment of commentsOf(data?.discussionEvents.data ?? {})) this.#change(comment)
    }
  }

  async #ask<Data>(query: string, variables: Record<string, unknown>): Promise<Data> {
    const { data, errors: [first] = [] } = await this.#client.query<Data>({ query, variables })
    // A page without comments has no discussion yet.
    if (first !== undefined && first.extensions?.code !== 'not_found') throw new Error(first.message)
    return data as Data
  }

  async #load(): Promise<Discussion | null> {
    type Data = { viewer: Reader | null; thread: Discussion | null }
    const { viewer, thread: discussion } = await this.#ask<Data>(PAGE, ARTICLE)
    this.reader = viewer
    this.count = discussion?.commentCount ?? 0
    this.lists.clear()
    this.#show(null, discussion?.comments ?? { nodes: [], pageInfo: { hasNextPage: false } as never })
    if (discussion !== null) await this.#loadHeld(discussion.id)
    return discussion
  }

  /** Adds a page to a list. */
  #show(list: string | null, { nodes, pageInfo }: Discussion['comments']): void {
    for (const node of nodes) this.#keep(node)
    const ids = this.lists.get(list)?.ids ?? []
    this.lists.set(list, { ...pageInfo, ids: [...new Set([...ids, ...nodes.map(({ id }) => id)])] })
  }

  async #loadHeld(id: string): Promise<void> {
    if (this.reader === null) return
    const { viewer } = await this.#ask<{ viewer: Record<string, { nodes: Comment[] }> }>(HELD, { id })
    for (const { nodes } of Object.values(viewer)) for (const node of nodes) this.#keep(node)
  }

  /** What a list shows. Before it come held comments; those with replies stand in it. */
  idsOf(list: string | null): string[] {
    const held = this.held.filter(({ parentId, replyCount }) => replyCount === 0 && (parentId ?? null) === list)
    return [...held.map(({ id }) => id), ...(this.lists.get(list)?.ids ?? [])]
  }

  async more(list: string | null): Promise<void> {
    const variables = { ...ARTICLE, after: this.lists.get(list)?.endCursor }
    const query = list === null ? PAGE : REPLIES
    const { thread } = await this.#ask<{ thread: Discussion }>(query, { ...variables, id: list })
    this.#show(list, thread.comments)
  }

  #keep(comment: Comment): Comment {
    const kept = { ...this.comments.get(comment.id), ...comment }
    this.comments.set(comment.id, kept)
    return kept
  }

  /** Brings everything up to a comment of an event or of an answer. The same may come again. */
  #change(comment: Comment): void {
    const kept = this.#keep(comment)
    const { id, parentId = null, author, bodyHtml } = kept
    // The event of an own comment may come before the answer.
    const isOwn = (draft: Comment) => draft.id !== id && textOf(draft.bodyHtml ?? '') === textOf(bodyHtml ?? '')
    const draft = author?.id === this.reader?.id ? this.#drafts.find(isOwn) : undefined
    if (draft !== undefined) this.#withdraw(draft)
    if (comment.parent != null) this.#keep(comment.parent)
    this.count = comment.discussion?.commentCount ?? this.count
    const list = this.lists.get(parentId)
    if (list === undefined || comment.status === undefined) return
    const { ids: items, ...pageInfo } = list
    const sort = parentId === null ? 'newest' : 'oldest'
    const read = (item: string, field: 'id' | 'pinnedAt') => this.comments.get(item)?.[field]
    this.lists.set(parentId, { ...list, ids: arrange({ items, sort, pageInfo, read }, kept, id) })
  }

  /** Shows the comment at once, and takes it back if the service refuses it. */
  async post(body: string, parentId: string | null): Promise<void> {
    const bodyHtml = new Option(body).innerHTML
    // Ids are in the order of time: this one is the last.
    const draft: Comment = { id: `new-${Date.now()}`, parentId, status: 'approved', bodyHtml, author: this.reader }
    this.#drafts.push(draft)
    this.#change(draft)
    try {
      const input = { discussion: { externalId: ARTICLE.externalId }, body, parentId }
      type Data = { createComment: { comment: Comment } }
      const { comment } = (await this.#ask<Data>(CREATE, { input })).createComment
      // Its event, if that has come already, is newer.
      if (!this.comments.has(comment.id)) this.#change(comment)
    } finally {
      this.#withdraw(draft)
    }
    if (!this.#isFollowed) void this.begin()
  }

  #withdraw(draft: Comment): void {
    this.#drafts = this.#drafts.filter(({ id }) => id !== draft.id)
    if (this.comments.has(draft.id)) this.#change({ ...draft, status: 'deleted' })
    this.comments.delete(draft.id)
  }

  async like({ id, reactionGroups = [] }: Comment): Promise<void> {
    const toggled = reactionGroups.map((group) => {
      const { type, count, viewerHasReacted: isHeld } = group
      return type === 'like' ? { type, count: count + (isHeld ? -1 : 1), viewerHasReacted: !isHeld } : group
    })
    this.#keep({ id, reactionGroups: toggled })
    const input = { commentId: id, type: 'like' }
    const { toggleReaction } = await this.#ask<{ toggleReaction: { comment: Comment } }>(TOGGLE, { input })
    this.#keep(toggleReaction.comment)
  }
}
