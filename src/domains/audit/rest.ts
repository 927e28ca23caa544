import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'GET /audit-log',
    summary: 'List audit log entries',
    operation: `query AuditLog($first: Int, $after: String, $action: String, $actor: String, $from: DateTime, $to: DateTime) {
      auditLog(first: $first, after: $after, action: $action, actor: $actor, from: $from, to: $to) {
        ...AuditEntryConnectionFields
      }
    }`,
  },
]
