import DataLoader from 'dataloader'

import { requireCaller } from './access.ts'
import { type Ctx, ofRequest } from './context.ts'
import { ServiceError } from './errors.ts'
import { type Id, isId } from './ids.ts'

/**
 * Joins what the fields of one request ask for: all keys that are asked for with the same arguments
 * go in one call of `load`, whose answers are in the order of the keys.
 */
export function perRequest<Key, Value, Args extends readonly unknown[] = []>(
  load: (ctx: Ctx, keys: readonly Key[], ...args: Args) => Promise<readonly Value[]>,
): (ctx: Ctx, key: Key, ...args: Args) => Promise<Value> {
  const loaders = ofRequest(() => new Map<string, DataLoader<Key, Value>>())
  return (ctx, key, ...args) => {
    const groups = loaders(ctx)
    const group = JSON.stringify(args)
    let loader = groups.get(group)
    if (loader === undefined) {
      // A field under two aliases has two objects for one comment: each asks, in the same
      // statement.
      loader = new DataLoader<Key, Value>((keys) => load(ctx, keys, ...args), { cache: false })
      groups.set(group, loader)
    }
    return loader.load(key)
  }
}

/** Some rows of the caller's tenant: what Prisma looks for. */
interface SomeRows {
  tenantId: Id
  id: { in: Id[] }
}

/**
 * Looks up a row of the caller's tenant by its id, or null. All look-ups of one
 * request share one call of `find`.
 */
export const rowPerRequest = <Row extends { id: Id }>(
  find: (ctx: Ctx, where: SomeRows) => Promise<readonly Row[]>,
): ((ctx: Ctx, id: Id) => Promise<Row | null>) =>
  perRequest(async (ctx, ids) => {
    const rows = await find(ctx, { tenantId: requireCaller(ctx).tenant.id, id: { in: [...new Set(ids)] } })
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ids.map((id) => byId.get(id) ?? null)
  })

/** The row that `find` gives for the id of an input. Throws `refusal` without one. */
export const requiredRow =
  <Row>(find: (ctx: Ctx, id: Id) => Promise<Row | null>, refusal = () => new ServiceError('not_found')) =>
  async (ctx: Ctx, { id }: { id: string }): Promise<Row> => {
    const found = isId(id) ? await find(ctx, id) : null
    if (found === null) throw refusal()
    return found
  }
