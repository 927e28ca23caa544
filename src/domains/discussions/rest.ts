import type { RouteDefinition } from '../../graphql/route.ts'

interface Created {
  createDiscussion: { discussion: object; created: boolean }
}

export const routes: readonly RouteDefinition[] = [
  {
    method: 'POST',
    path: '/discussions',
    summary: 'Create a discussion',
    field: 'createDiscussion',
    status: 201,
    otherStatus: {
      status: 200,
      when: ({ createDiscussion }: Created) => !createDiscussion.created,
      description: 'It was there; a title or url that was given is the new one.',
    },
    answer: ({ createDiscussion }: Created) => createDiscussion.discussion,
  },
  { method: 'GET', path: '/discussions', summary: 'List discussions', field: 'discussions', status: 200 },
  {
    method: 'POST',
    path: '/discussions/counts',
    summary: 'Count comments of pages',
    field: 'discussionCounts',
    status: 200,
  },
  {
    method: 'GET',
    path: '/discussions/:id',
    summary: 'Retrieve a discussion',
    description: 'Returns a discussion by its id.',
    operation: `query Discussion($id: ID!) { discussion(by: { id: $id }) { ...DiscussionFields } }`,
    status: 200,
  },
  {
    method: 'PATCH',
    path: '/discussions/:id',
    summary: 'Update a discussion',
    field: 'updateDiscussion',
    status: 200,
  },
  {
    method: 'DELETE',
    path: '/discussions/:id',
    summary: 'Delete a discussion',
    field: 'deleteDiscussion',
    status: 202,
  },
  {
    method: 'GET',
    path: '/discussions/by-external/:externalId',
    summary: "Retrieve a page's discussion",
    description: 'Returns a discussion by the external id of its page.',
    operation: `query DiscussionByExternalId($externalId: String!) {
      discussion(by: { externalId: $externalId }) { ...DiscussionFields }
    }`,
    status: 200,
  },
]
