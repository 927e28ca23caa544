import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { route: 'POST /import-uploads', summary: 'Begin an upload', field: 'createImportUpload', status: 201 },
  { route: 'GET /import-uploads', summary: 'List uploads', field: 'uploads' },
  { route: 'GET /import-uploads/:id', summary: 'Retrieve an upload', field: 'upload' },
  {
    route: 'POST /import-uploads/:id/complete',
    summary: 'Complete an upload',
    field: 'completeImportUpload',
    status: 202,
  },
  { route: 'POST /import-uploads/:id/run', summary: 'Import an uploaded file', field: 'runImportUpload', status: 202 },
  { route: 'DELETE /import-uploads/:id', summary: 'Delete an upload', field: 'deleteImportUpload', status: 204 },
]
