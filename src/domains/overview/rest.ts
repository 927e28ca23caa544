import { OverviewDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/overview',
    summary: 'Retrieve the overview',
    document: OverviewDocument,
    status: 200,
  }),
]
