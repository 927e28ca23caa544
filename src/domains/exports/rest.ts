import {
  CreateExportDocument,
  DeleteExportDocument,
  ExportDocument,
  ExportsDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/exports',
    summary: 'Create an export',
    document: CreateExportDocument,
    status: 202,
  }),
  route({ method: 'GET', path: '/exports', summary: 'List exports', document: ExportsDocument, status: 200 }),
  route({ method: 'GET', path: '/exports/:id', summary: 'Retrieve an export', document: ExportDocument, status: 200 }),
  route({
    method: 'DELETE',
    path: '/exports/:id',
    summary: 'Delete an export',
    document: DeleteExportDocument,
    status: 204,
  }),
]
