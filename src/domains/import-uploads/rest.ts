import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  { method: 'POST', path: '/import-uploads', summary: 'Begin an upload', field: 'createImportUpload', status: 201 },
  { method: 'GET', path: '/import-uploads', summary: 'List uploads', field: 'uploads', status: 200 },
  { method: 'GET', path: '/import-uploads/:id', summary: 'Retrieve an upload', field: 'upload', status: 200 },
  {
    method: 'POST',
    path: '/import-uploads/:id/complete',
    summary: 'Complete an upload',
    field: 'completeImportUpload',
    status: 202,
  },
  {
    method: 'POST',
    path: '/import-uploads/:id/run',
    summary: 'Import an uploaded file',
    field: 'runImportUpload',
    status: 202,
  },
  {
    method: 'DELETE',
    path: '/import-uploads/:id',
    summary: 'Delete an upload',
    field: 'deleteImportUpload',
    status: 204,
  },
]
