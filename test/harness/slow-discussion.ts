import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'

import { buildSchema, type DocumentNode, execute, type ExecutionResult, parse } from 'graphql'

import { encodeCursor } from '../../src/core/input/cursor.ts'
import type { Sort } from './cached-pages.ts'
import { ROOT } from './markdown.ts'

const schema = buildSchema(readFileSync(join(ROOT, 'schema.graphql'), 'utf8'))

/** Resolves once pages have taken what was sent to them. */
export async function delivered(): Promise<void> {
  for (let n = 0; n < 4; n++) await turn()
}

export type Change = 'create' | 'approve' | 'reject' | 'pin' | 'unpin'

interface Comment {
  id: string
  status: 'approved' | 'rejected'
  pinnedAt: string | null
}

interface Stream {
  document: DocumentNode
  variables: Readonly<Record<string, unknown>>
  lastSeq: number
  controller: ReadableStreamDefaultController<Uint8Array>
}

interface ListArgs {
  sort: Sort
  first: number
  after?: string | null
}

/** Fields of a comment that do not matter here. */
const REST = {
  __typename: 'Comment',
  discussionId: 'd',
  parentId: null,
  parent: null,
  depth: 0,
  bodyHtml: '',
  createdAt: '2026-11-27T00:00:00Z',
  editedAt: null,
  deletedAt: null,
  replyCount: 0,
  author: null,
  reactionGroups: [],
}

/** The order of a level, as the service has it. */
const orderOf =
  (sort: Sort) =>
  (a: Comment, b: Comment): number => {
    const [pin, other] = [a.pinnedAt ?? '', b.pinnedAt ?? '']
    if (pin !== other) return pin > other ? -1 : 1
    return (Number(a.id > b.id) - Number(a.id < b.id)) * (pin === '' && sort === 'oldest' ? 1 : -1)
  }

/**
 * A discussion in memory. Its service executes a request when it is told to, and sends the answer
 * when it is told to; events likewise.
 */
export class SlowDiscussion {
  readonly place = { externalId: 'x', discussionId: 'd', lastEventId: '0' }
  readonly #comments: Comment[] = []
  /** The comment of each event, that of `seq` 1 first. */
  readonly #events: Comment[] = []
  #streams: Stream[] = []
  readonly #requests: (() => void)[] = []
  readonly #answers: (() => void)[] = []
  #pins = 0

  constructor(size: number) {
    for (let n = 0; n < size; n++) this.change('create', 0)
    this.place.lastEventId = `${this.seq}`
  }

  get seq(): number {
    return this.#events.length
  }

  change(kind: Change, at: number): void {
    const comments = this.#comments
    const id = `c${String(comments.length).padStart(4, '0')}`
    if (kind === 'create') comments.push({ id, status: 'approved', pinnedAt: null })
    const comment = kind === 'create' ? comments.at(-1) : comments[at % comments.length]
    if (comment === undefined) return
    const isApproved = comment.status === 'approved'
    const isPinned = comment.pinnedAt !== null
    if (kind === 'approve' && !isApproved) comment.status = 'approved'
    else if (kind === 'reject' && isApproved) Object.assign(comment, { status: 'rejected', pinnedAt: null })
    else if (kind === 'pin' && isApproved && !isPinned) comment.pinnedAt = new Date(++this.#pins).toISOString()
    else if (kind === 'unpin' && isPinned) comment.pinnedAt = null
    else if (kind !== 'create') return
    this.#events.push(comment)
  }

  /** Executes the oldest request that waits. */
  execute = (): void => this.#requests.shift()?.()
  /** Sends the oldest answer that waits. */
  answer = (): void => this.#answers.shift()?.()

  /** Sends the events that there are, with their comments as they are now. */
  sendEvents(): void {
    for (const stream of this.#streams) {
      for (; stream.lastSeq < this.seq; stream.lastSeq++) {
        const comment = this.#shown(this.#events[stream.lastSeq] as Comment)
        const seq = stream.lastSeq + 1
        const data = { __typename: 'CommentEventData', comment, tombstones: [] }
        const discussionEvents = { id: `e${seq}`, seq, type: 'comment_edited', data }
        const { document, variables: variableValues } = stream
        const result = execute({ schema, document, variableValues, rootValue: { discussionEvents } })
        stream.controller.enqueue(Buffer.from(`event: next\ndata: ${JSON.stringify(result)}\n\n`))
      }
    }
  }

  /** Executes and answers all requests, and those that pages make meanwhile. */
  async settle(): Promise<void> {
    do {
      for (const go of [...this.#requests.splice(0), ...this.#answers.splice(0)]) go()
      await delivered()
    } while (this.#requests.length + this.#answers.length > 0)
  }

  query(document: DocumentNode, variableValues: Readonly<Record<string, unknown>>): ExecutionResult {
    const rootValue = { discussion: () => this.#discussion() }
    return execute({ schema, document, variableValues, rootValue }) as ExecutionResult
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request = JSON.parse(init?.body as string) as { query: string; variables: Record<string, unknown> }
    const document = parse(request.query)
    if ((input as URL | string).toString().endsWith('/stream')) {
      const { variables } = request
      const begin = (controller: Stream['controller']): void => {
        const stream = { document, variables, lastSeq: Number(variables.lastEventId), controller }
        this.#streams.push(stream)
        init?.signal?.addEventListener('abort', () => {
          this.#streams = this.#streams.filter((each) => each !== stream)
          controller.error(new Error('aborted'))
        })
      }
      return new Response(new ReadableStream({ start: begin }), { headers: { 'content-type': 'text/event-stream' } })
    }
    await new Promise<void>((go) => this.#requests.push(go))
    const result = this.query(document, request.variables)
    await new Promise<void>((go) => this.#answers.push(go))
    return Response.json(result)
  }

  #shown(comment: Comment): object {
    return { ...REST, ...comment, discussion: () => this.#discussion() }
  }

  #discussion() {
    const { externalId, discussionId: id } = this.place
    const approved = this.#comments.filter(({ status }) => status === 'approved')
    return {
      id,
      externalId,
      state: 'open',
      commentCount: approved.length,
      lastEventId: `${this.seq}`,
      comments: (args: ListArgs) => this.#page(approved, args),
    }
  }

  #page(comments: readonly Comment[], { sort, first, after }: ListArgs) {
    const order = orderOf(sort)
    const [, pinnedAt = '', id = ''] = after == null ? [] : (JSON.parse(atob(after)) as string[])
    const start: Comment = { id, pinnedAt: pinnedAt === '' ? null : pinnedAt, status: 'approved' }
    const rest = comments.toSorted(order).filter((each) => after == null || order(start, each) < 0)
    const edges = rest.slice(0, first).map((each) => ({
      cursor: encodeCursor(sort, each.pinnedAt ?? '', each.id),
      node: this.#shown(each),
    }))
    return {
      edges,
      nodes: edges.map(({ node }) => node),
      pageInfo: {
        hasNextPage: rest.length > first,
        hasPreviousPage: false,
        startCursor: edges[0]?.cursor ?? null,
        endCursor: edges.at(-1)?.cursor ?? null,
      },
    }
  }
}
