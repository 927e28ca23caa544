import { LoginDocument, MeDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/admin/auth/login',
    summary: 'Log in as an admin',
    document: LoginDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/admin/me',
    summary: 'Retrieve the current admin',
    document: MeDocument,
    status: 200,
  }),
]
