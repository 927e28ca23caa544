import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { method: 'POST', path: '/documents', summary: 'Add GraphQL documents', field: 'addDocuments', status: 200 },
  { method: 'GET', path: '/documents', summary: 'List GraphQL documents', field: 'documents', status: 200 },
  {
    method: 'DELETE',
    path: '/documents/:documentId',
    summary: 'Delete a GraphQL document',
    field: 'deleteDocument',
    status: 204,
  },
]
