import { OverviewDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/overview',
    summary: 'What waits for somebody: comments, endpoints, deliveries; and the open streams',
    document: OverviewDocument,
    status: 200,
  }),
]
