import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'

import type { FastifyReply } from 'fastify'

import type { App } from '../../core/app.ts'
import type { Tenant } from '../../core/caller.ts'
import { ofRequester, ofTenant } from '../../core/queues/patience.ts'

/** The service for one request of a tenant. A write whose requester has gone is not begun. */
export const appOf = (app: App, { id }: Pick<Tenant, 'id'>, isWrite: boolean, { raw }: FastifyReply): App =>
  isWrite ? ofRequester(app, id, () => (isHttp2(raw) ? raw.stream : raw).destroyed) : ofTenant(app, id)

const isHttp2 = (raw: ServerResponse | Http2ServerResponse): raw is Http2ServerResponse => 'stream' in raw
