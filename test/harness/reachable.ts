import { expect } from 'vitest'

import type { Comment } from '../../src/clients/receiver/events.ts'
import type { CommentPage } from '../../src/clients/widget/backend.ts'
import type { TestService } from './service.ts'

export type ReadPage = (level: { parentId: string | null; cursor: string | null }) => Promise<CommentPage>

/** All comments that a reader reaches by paging through every level, by id. None comes twice. */
export async function reachableBy(read: ReadPage): Promise<Map<string, Comment>> {
  const found = new Map<string, Comment>()
  const levels: (string | null)[] = [null]
  for (let parentId = levels.shift(); parentId !== undefined; parentId = levels.shift()) {
    let cursor: string | null = null
    do {
      const page: CommentPage = await read({ parentId, cursor })
      for (const { replies, ...comment } of page.data) {
        expect(comment.parentId).toBe(parentId)
        expect([...found.keys()]).not.toContain(comment.id)
        found.set(comment.id, comment)
        levels.push(comment.id)
        for (const { parentId: above } of replies?.data ?? []) expect(above).toBe(comment.id)
      }
      cursor = page.nextCursor
    } while (cursor !== null)
  }
  return found
}

/** Pages by REST. */
export const byRest =
  (service: TestService, discussionId: string, query: string, headers: Record<string, string>): ReadPage =>
  async ({ parentId, cursor }) => {
    const place = `${parentId === null ? '' : `&parentId=${parentId}`}${cursor === null ? '' : `&cursor=${cursor}`}`
    const path = `/discussions/${discussionId}/comments?${query}${place}`
    return service.ok('GET', path, undefined, headers) as Promise<CommentPage>
  }

const FIELDS = `id discussionId parentId depth author { id externalId name avatarUrl profileUrl badges } body bodyHtml status
  pinnedAt editedAt deletedAt revision replyCount reactionCounts viewerReaction authorMuted
  decision { action reason message automated at }
  reactionGroups { type count viewerHasReacted } createdAt`
const CONNECTION = `edges { node { ${FIELDS} } } pageInfo { hasNextPage endCursor }`
const ROOTS = `query ($id: ID!, $after: String, $sort: CommentSort) {
  discussion(by: { id: $id }) { level: comments(first: 2, after: $after, sort: $sort) { ${CONNECTION} } } }`
const REPLIES = `query ($id: ID!, $after: String, $sort: CommentSort) {
  comment(id: $id) { level: replies(first: 2, after: $after, sort: $sort) { ${CONNECTION} } } }`

interface Grouped {
  reactionGroups: { type: string; count: number; viewerHasReacted: boolean }[]
}

/** The comment without its groups, which agree with its counts and with the viewer's reaction. */
function withoutGroups({ reactionGroups, ...comment }: Comment & Grouped): Comment {
  const counts = reactionGroups.filter(({ count }) => count > 0).map(({ type, count }) => [type, count] as const)
  expect(Object.fromEntries(counts)).toEqual(comment.reactionCounts)
  const held = reactionGroups.filter(({ viewerHasReacted }) => viewerHasReacted).map(({ type }) => type)
  expect(held).toEqual(comment.viewerReaction === null ? [] : [comment.viewerReaction])
  return comment
}

/** Pages by GraphQL: the top level of the discussion, and each comment's own `replies`. */
export const byGraphql =
  (service: TestService, id: string, sort: string, headers: Record<string, string>): ReadPage =>
  async ({ parentId, cursor }) => {
    const document = parentId === null ? ROOTS : REPLIES
    const { json, text } = await service.graphql(document, { id: parentId ?? id, after: cursor, sort }, headers)
    expect(json.errors, text).toBeUndefined()
    const { edges, pageInfo } = (json.data.discussion ?? json.data.comment).level
    return {
      data: edges.map(({ node }: { node: Comment & Grouped }) => withoutGroups(node)),
      nextCursor: pageInfo.hasNextPage ? pageInfo.endCursor : null,
      hasMore: pageInfo.hasNextPage,
    }
  }
