import type { RouteDefinition } from '../../graphql/route.ts'

interface Created {
  createDiscussion: { discussion: object; created: boolean }
}

export const routes: readonly RouteDefinition[] = [
  {
    route: 'POST /discussions',
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
  { route: 'GET /discussions', summary: 'List discussions', field: 'discussions' },
  { route: 'POST /discussions/counts', summary: 'Count comments of pages', field: 'discussionCounts' },
  {
    route: 'GET /discussions/:id',
    summary: 'Retrieve a discussion',
    description: 'Returns a discussion by its id.',
    operation: `query Discussion($id: ID!) { discussion(by: { id: $id }) { ...DiscussionFields } }`,
  },
  { route: 'PATCH /discussions/:id', summary: 'Update a discussion', field: 'updateDiscussion' },
  { route: 'DELETE /discussions/:id', summary: 'Delete a discussion', field: 'deleteDiscussion', status: 202 },
  {
    route: 'GET /discussions/by-external/:externalId',
    summary: "Retrieve a page's discussion",
    description: 'Returns a discussion by the external id of its page.',
    operation: `query DiscussionByExternalId($externalId: String!) {
      discussion(by: { externalId: $externalId }) { ...DiscussionFields }
    }`,
  },
]
