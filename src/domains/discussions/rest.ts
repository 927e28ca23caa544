import {
  CreateDiscussionDocument,
  DiscussionByExternalIdDocument,
  DiscussionCountsDocument,
  DiscussionDocument,
  DiscussionsDocument,
  UpdateDiscussionDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/discussions',
    summary: 'Create a discussion',
    document: CreateDiscussionDocument,
    status: 201,
    otherStatus: {
      status: 200,
      when: ({ createDiscussion }) => !createDiscussion.created,
      description: 'It was there; a title or url that was given is the new one.',
    },
    answer: ({ createDiscussion }) => createDiscussion.discussion,
  }),
  route({
    method: 'GET',
    path: '/discussions',
    summary: 'List discussions',
    document: DiscussionsDocument,
    status: 200,
  }),
  route({
    method: 'POST',
    path: '/discussions/counts',
    summary: 'Count comments of pages',
    document: DiscussionCountsDocument,
    status: 200,
    answer: ({ discussionCounts }) => ({ data: discussionCounts }),
  }),
  route({
    method: 'GET',
    path: '/discussions/:id',
    summary: 'Retrieve a discussion',
    description: 'Returns a discussion by its id.',
    document: DiscussionDocument,
    status: 200,
  }),
  route({
    method: 'PATCH',
    path: '/discussions/:id',
    summary: 'Update a discussion',
    document: UpdateDiscussionDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/discussions/by-external/:externalId',
    summary: "Retrieve a page's discussion",
    description: 'Returns a discussion by the external id of its page.',
    document: DiscussionByExternalIdDocument,
    status: 200,
  }),
]
