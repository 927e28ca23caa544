import { AddDocumentsDocument, DeleteDocumentDocument, DocumentsDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/documents',
    summary: 'Add GraphQL documents',
    document: AddDocumentsDocument,
    status: 200,
    answer: ({ addDocuments: { documents } }) => ({ data: documents }),
  }),
  route({
    method: 'GET',
    path: '/documents',
    summary: 'List GraphQL documents',
    document: DocumentsDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/documents/:documentId',
    summary: 'Delete a GraphQL document',
    document: DeleteDocumentDocument,
    status: 204,
  }),
]
