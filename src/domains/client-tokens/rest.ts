import { CreateClientTokenDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/client-tokens',
    summary: 'Create a client token',
    document: CreateClientTokenDocument,
    status: 201,
    answer: ({ createClientToken: { token, expiresAt, readerId } }) => ({ expiresAt, readerId, token }),
  }),
]
