import { CreateClassifierSecretDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/classifier-secrets',
    summary: 'Makes a new secret that signs what the classifier is asked; the answer alone shows it',
    document: CreateClassifierSecretDocument,
    status: 201,
  }),
]
