import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /documents', summary: 'Add GraphQL documents', field: 'addDocuments' },
  { route: 'GET /documents', summary: 'List GraphQL documents', field: 'documents' },
  {
    route: 'DELETE /documents/:documentId',
    summary: 'Delete a GraphQL document',
    field: 'deleteDocument',
    status: 204,
  },
]
