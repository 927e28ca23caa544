import {
  ClassifierSecretsDocument,
  CreateClassifierSecretDocument,
  RevokeClassifierSecretDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/classifier-secrets',
    summary: 'Create a classifier secret',
    document: CreateClassifierSecretDocument,
    status: 201,
  }),
  route({
    method: 'GET',
    path: '/classifier-secrets',
    summary: 'List classifier secrets',
    document: ClassifierSecretsDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: '/classifier-secrets/:kid',
    summary: 'End a classifier secret',
    document: RevokeClassifierSecretDocument,
    status: 204,
  }),
]
