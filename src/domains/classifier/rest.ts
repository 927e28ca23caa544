import { CreateClassifierSecretDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/classifier-secrets',
    summary: 'Create a classifier secret',
    document: CreateClassifierSecretDocument,
    status: 201,
  }),
]
