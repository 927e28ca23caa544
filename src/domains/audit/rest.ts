import { AuditLogDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/audit-log',
    summary: 'List audit log entries',
    document: AuditLogDocument,
    status: 200,
  }),
]
