import DataLoader from 'dataloader'

import { type Ctx, ofRequest } from './context.ts'

/**
 * Joins what the fields of one request ask for: all keys of one `group` (the arguments that they
 * have in common) go in one call of `load`, whose answers are in the order of the keys.
 */
export function perRequest<Key, Value>(
  load: (ctx: Ctx, group: string, keys: readonly Key[]) => Promise<readonly Value[]>,
): (ctx: Ctx, group: string, key: Key) => Promise<Value> {
  const loaders = ofRequest(() => new Map<string, DataLoader<Key, Value>>())
  return (ctx, group, key) => {
    const groups = loaders(ctx)
    let loader = groups.get(group)
    if (loader === undefined) {
      // A field under two aliases has two objects for one comment: each asks, in the same
      // statement.
      loader = new DataLoader<Key, Value>((keys) => load(ctx, group, keys), { cache: false })
      groups.set(group, loader)
    }
    return loader.load(key)
  }
}
