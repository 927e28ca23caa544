import type { App } from '../../core/app.ts'
import type { Id } from '../../core/ids.ts'
import type { Tenant } from '../../generated/prisma/client.ts'

/** A tenant as operators see it. */
export interface ListedTenant extends Pick<Tenant, 'id' | 'slug' | 'suspendedAt' | 'suspensionReason' | 'createdAt'> {
  /** `deleting`: workers remove what belonged to it. Its slug is free, and is no slug any more. */
  state: 'active' | 'suspended' | 'deleting'
  /** How many approved comments it has. */
  comments: number
}

const SELECT = {
  id: true,
  slug: true,
  suspendedAt: true,
  suspensionReason: true,
  deletedAt: true,
  createdAt: true,
} as const

/** All tenants, oldest first. For operators only. */
export const listTenants = (app: App): Promise<ListedTenant[]> => list(app, {})

/** One tenant, with numbers of what it has, or null. For operators only. */
export async function showTenant(app: App, id: Id) {
  const [tenant] = await list(app, { id })
  if (tenant === undefined) return null
  const of = { where: { tenantId: id } }
  return {
    ...tenant,
    discussions: await app.prisma.discussion.count(of),
    readers: await app.prisma.reader.count(of),
    members: await app.prisma.member.count(of),
    apiKeys: await app.prisma.apiKey.count(of),
    endpoints: await app.prisma.webhookEndpoint.count(of),
  }
}

async function list({ prisma }: App, where: { id?: Id }): Promise<ListedTenant[]> {
  const tenants = await prisma.tenant.findMany({ where, select: SELECT, orderBy: { id: 'asc' } })
  const sums = await prisma.discussion.groupBy({
    by: ['tenantId'],
    where: where.id === undefined ? {} : { tenantId: where.id },
    _sum: { commentCount: true },
  })
  const counts = new Map(sums.map(({ tenantId, _sum }) => [tenantId, _sum.commentCount ?? 0]))
  return tenants.map(({ id, slug, deletedAt, suspendedAt, suspensionReason, createdAt }) => {
    const state = deletedAt !== null ? 'deleting' : suspendedAt !== null ? 'suspended' : 'active'
    return { id, slug, state, comments: counts.get(id) ?? 0, suspendedAt, suspensionReason, createdAt }
  })
}
