// What the page shows until the service answers.
import type { Cache, OptimisticMutationConfig } from '@urql/exchange-graphcache'

/** The service does not know it yet: it takes no reactions and replies. */
export const isDraft = (id: string): boolean => id.startsWith('new-')

const fieldsOf = (cache: Cache, key: unknown, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, cache.resolve(key as string, name)]))

const numberOf = (cache: Cache, key: unknown, name: string): number => Number(cache.resolve(key as string, name) ?? 0)

export const optimistic: OptimisticMutationConfig = {
  createComment({ input }, cache) {
    const { discussion: by, body, parentId = null } = input as { discussion: object; body: string; parentId?: string }
    const discussion = cache.resolve('Query', 'discussion', { by } as never)
    const viewer = cache.resolve('Query', 'viewer')
    const parent = parentId && { __typename: 'Comment', id: parentId }
    const discussionId = cache.resolve(discussion as string, 'id')
    const comment = {
      __typename: 'Comment',
      // Ids are in the order of time: this one is the last.
      id: `new-${Date.now()}`,
      discussionId,
      parentId,
      depth: parent ? numberOf(cache, parent, 'depth') + 1 : 0,
      status: 'approved',
      bodyHtml: new Option(body).innerHTML,
      createdAt: new Date().toISOString(),
      editedAt: null,
      deletedAt: null,
      pinnedAt: null,
      replyCount: 0,
      author: { __typename: 'Reader', ...fieldsOf(cache, viewer, 'id', 'name', 'avatarUrl', 'profileUrl') },
      reactionGroups: [],
      parent: parent && { ...parent, replyCount: numberOf(cache, parent, 'replyCount') + 1 },
      discussion: {
        __typename: 'Discussion',
        id: discussionId,
        commentCount: numberOf(cache, discussion, 'commentCount') + 1,
        state: cache.resolve(discussion as string, 'state'),
      },
    }
    return { __typename: 'CreateCommentPayload', comment } as never
  },

  toggleReaction({ input }, cache) {
    const { commentId, type } = input as { commentId: string; type: string }
    const groups = cache.resolve({ __typename: 'Comment', id: commentId }, 'reactionGroups') as string[]
    const reactionGroups = groups.map((key) => {
      const group = fieldsOf(cache, key, 'type', 'count', 'viewerHasReacted')
      const isHeld = group.viewerHasReacted === true
      const toggled = { count: Number(group.count) + (isHeld ? -1 : 1), viewerHasReacted: !isHeld }
      return { __typename: 'ReactionGroup', ...group, ...(group.type === type ? toggled : {}) }
    })
    return {
      __typename: 'ToggleReactionPayload',
      comment: { __typename: 'Comment', id: commentId, reactionGroups },
    } as never
  },
}
