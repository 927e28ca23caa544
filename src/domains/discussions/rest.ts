import {
  CreateDiscussionDocument,
  DiscussionByExternalIdDocument,
  DiscussionCountsDocument,
  DiscussionDocument,
  DiscussionsDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/discussions',
    summary: 'The discussion of an external id: made where there is none (201), updated where there is (200)',
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
    summary: 'All discussions, or those that a search finds, newest or last active first',
    document: DiscussionsDocument,
    status: 200,
  }),
  route({
    method: 'POST',
    path: '/discussions/counts',
    summary: 'Comment counts of up to 200 pages',
    document: DiscussionCountsDocument,
    status: 200,
    answer: ({ discussionCounts }) => ({ data: discussionCounts }),
  }),
  route({
    method: 'GET',
    path: '/discussions/:id',
    summary: 'One discussion',
    document: DiscussionDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/discussions/by-external/:externalId',
    summary: 'One discussion, by the key of its page',
    document: DiscussionByExternalIdDocument,
    status: 200,
  }),
]
