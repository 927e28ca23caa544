import { ApiKeysDocument, CreateApiKeyDocument, RevokeApiKeyDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

/** The routes also exist below `/admin/`, where only admin tokens are accepted. */
const under = (base: '/keys' | '/admin/keys', by: '' | ' as admin'): Route[] => [
  route({
    method: 'POST',
    path: base,
    summary: `Create an API key${by}`,
    document: CreateApiKeyDocument,
    status: 201,
    answer: ({ createApiKey: { apiKey, key } }) => ({ ...apiKey, key }),
  }),
  route({
    method: 'GET',
    path: base,
    summary: `List API keys${by}`,
    document: ApiKeysDocument,
    status: 200,
  }),
  route({
    method: 'DELETE',
    path: `${base}/:id`,
    summary: `Revoke an API key${by}`,
    document: RevokeApiKeyDocument,
    status: 204,
  }),
]

export const routes: readonly Route[] = [...under('/keys', ''), ...under('/admin/keys', ' as admin')]
