import type { RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'GET /readers/:id/export',
    summary: "Export a reader's data",
    field: 'readerExport',
    select: '...ReaderExportFields reader { ...ReaderRecordFields }',
  },
  { route: 'DELETE /readers/:readerId', summary: 'Erase a reader', field: 'eraseReader', status: 204 },
]
