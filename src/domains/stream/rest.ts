import type { DocumentNode } from 'graphql'

import {
  CreateStreamTicketDocument,
  DiscussionEventsDocument,
  DiscussionPresenceDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: Route[] = [
  route({
    method: 'POST',
    path: '/stream/ticket',
    summary: 'Create a stream ticket',
    document: CreateStreamTicketDocument,
    status: 201,
  }),
  route({
    method: 'GET',
    path: '/discussions/:id/presence',
    summary: "Count a discussion's open streams",
    document: DiscussionPresenceDocument,
    status: 200,
  }),
]

/** The data of events, with the same fields that REST shows of these types. */
export const eventDocument: DocumentNode = DiscussionEventsDocument
