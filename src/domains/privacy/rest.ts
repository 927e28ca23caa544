import { EraseReaderDocument, ReaderExportDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/readers/:id/export',
    summary: 'All that is held of a reader',
    document: ReaderExportDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/readers/:readerId',
    summary: 'Erases a reader, for good',
    document: EraseReaderDocument,
    status: 204,
  }),
]
