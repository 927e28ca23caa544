import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'GET',
    path: '/readers/:id/export',
    summary: "Export a reader's data",
    field: 'readerExport',
    select: '...ReaderExportFields reader { ...ReaderRecordFields }',
    status: 200,
  },
  { method: 'DELETE', path: '/readers/:readerId', summary: 'Erase a reader', field: 'eraseReader', status: 204 },
]
