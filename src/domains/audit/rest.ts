import { AuditLogDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/audit-log',
    summary: 'What keys and admins have done, newest first',
    document: AuditLogDocument,
    status: 200,
  }),
]
