import { ImportDocument, ImportsDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({ method: 'GET', path: '/imports', summary: 'List imports', document: ImportsDocument, status: 200 }),
  route({ method: 'GET', path: '/imports/:id', summary: 'Retrieve an import', document: ImportDocument, status: 200 }),
]
