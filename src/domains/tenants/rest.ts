import { LoginDocument, MeDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/admin/auth/login',
    summary: 'Exchange e-mail address and password for an admin token',
    document: LoginDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/admin/me',
    summary: 'The admin whose token the request carries',
    document: MeDocument,
    status: 200,
  }),
]
