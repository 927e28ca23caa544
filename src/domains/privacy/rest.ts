import { EraseReaderDocument, ReaderExportDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/readers/:id/export',
    summary: "Export a reader's data",
    document: ReaderExportDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/readers/:readerId',
    summary: 'Erase a reader',
    document: EraseReaderDocument,
    status: 204,
  }),
]
