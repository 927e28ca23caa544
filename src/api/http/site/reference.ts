import type { FastifyInstance } from 'fastify'

import { baseUrl } from '../../../core/address.ts'
import type { App } from '../../../core/app.ts'
import { API_BASE } from '../../../graphql/route.ts'
import { schema } from '../../execution/schema.ts'
import { asyncApiDocument } from '../../reference/asyncapi.ts'
import { openApiDocument } from '../../reference/openapi.ts'
import { type Asset, assetOf, serveAsset } from './assets.ts'

/**
 * The interfaces for programs: `/api/v1/openapi.json` and `/api/v1/asyncapi.json`. Each document is
 * made at its first request, so that a start does not wait for it.
 */
export function registerReference(server: FastifyInstance, app: App): void {
  const { settings } = app
  const json = (document: object): Asset =>
    assetOf('application/json; charset=utf-8', Buffer.from(JSON.stringify(document)))
  serveAsset(server, `${API_BASE}/openapi.json`, () => json(openApiDocument(schema, settings, baseUrl(app))))
  serveAsset(server, `${API_BASE}/asyncapi.json`, () => json(asyncApiDocument(schema, settings, baseUrl(app))))
  // Many tools look for the document at the root. The redirect is relative, so that a proxy's
  // prefix stays.
  for (const name of ['openapi.json', 'asyncapi.json']) {
    server.get(`/${name}`, (_request, reply) => reply.redirect(`.${API_BASE}/${name}`, 308))
  }
}
