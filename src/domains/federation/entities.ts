import { z } from 'zod'

import type { Ctx } from '../../core/context.ts'
import type { Id } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { validate } from '../../core/input/validate.ts'
import { findDiscussionIds } from '../discussions/discussions.ts'
import { type FoundNode, findOfType } from '../nodes/nodes.ts'
import { findReaderIds } from '../readers/records.ts'

/**
 * The types that other subgraphs may name, and their keys. A gateway takes the first one that the
 * other subgraph has.
 */
export const KEYS = {
  Comment: ['id'],
  Discussion: ['externalId', 'id'],
  Reader: ['externalId', 'id'],
} as const

type EntityType = keyof typeof KEYS

/** The most representations of one field: a gateway sends one for each entry of its lists. */
export const MAX_REPRESENTATIONS = 1000

const representation = z
  .object({
    __typename: z.enum(Object.keys(KEYS) as [EntityType, ...EntityType[]]),
    id: z.string().nullish(),
    externalId: z.string().nullish(),
  })
  .superRefine((given, issues) => {
    const keys: readonly ('id' | 'externalId')[] = KEYS[given.__typename]
    if (keys.some((key) => given[key] != null)) return
    issues.addIssue({ code: 'custom', params: { code: 'required' }, message: `must have ${keys.join(' or ')}` })
  })

const representationsInput = z.object({ representations: z.array(representation).max(MAX_REPRESENTATIONS) })

/**
 * The objects that these representations name, in their order, each by the rule of its type's own
 * query; null where there is nothing that the caller may see. The statements are the same however
 * many there are. Throws `validation_failed` for what names no entity.
 */
export async function findEntities(ctx: Ctx, given: readonly unknown[]): Promise<(FoundNode | null)[]> {
  const { representations } = validate(representationsInput, { representations: given })
  return Promise.all(
    representations.map(async ({ __typename: type, id, externalId }) => {
      // An id stays for good, so it counts where both are given.
      const found = id ?? (await findId(ctx, type, externalId ?? ''))
      return found === null ? null : findOfType(ctx, type, found)
    }),
  )
}

type FindId = (ctx: Ctx, externalId: string) => Promise<Id | null>

const joined = (find: (ctx: Ctx, externalIds: readonly string[]) => Promise<ReadonlyMap<string, Id>>): FindId =>
  perRequest<string, Id | null>(async (ctx, externalIds) => {
    const ids = await find(ctx, [...new Set(externalIds)])
    return externalIds.map((externalId) => ids.get(externalId) ?? null)
  })

const BY_EXTERNAL_ID: Readonly<Record<EntityType, FindId | null>> = {
  Comment: null,
  Discussion: joined(findDiscussionIds),
  Reader: joined(findReaderIds),
}

/** Nothing has an external id with NUL, which PostgreSQL refuses. */
const findId = async (ctx: Ctx, type: EntityType, externalId: string): Promise<Id | null> =>
  externalId.includes('\0') ? null : ((await BY_EXTERNAL_ID[type]?.(ctx, externalId)) ?? null)
