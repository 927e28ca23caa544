import type { DocumentNode } from 'graphql'

import {
  CreateStreamTicketDocument,
  DiscussionEventsDocument,
  DiscussionPresenceDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: Route[] = [
  route({
    method: 'POST',
    path: '/stream/ticket',
    summary: "Mint a ticket for a browser's stream of one discussion",
    document: CreateStreamTicketDocument,
    status: 201,
  }),
  route({
    method: 'GET',
    path: '/discussions/:id/presence',
    summary: 'How many streams are open on a discussion',
    document: DiscussionPresenceDocument,
    status: 200,
  }),
]

/** What an event carries: the fields that REST shows of the same types. */
export const eventDocument: DocumentNode = DiscussionEventsDocument
