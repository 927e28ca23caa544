import { z } from 'zod'

import { requireCaller } from '../../core/access.ts'
import type { Ctx } from '../../core/context.ts'
import { ServiceError, validationFailed } from '../../core/errors.ts'
import { type Id, inLowerCase } from '../../core/ids.ts'
import { perRequest } from '../../core/per-request.ts'
import { externalIdSchema } from '../../core/input/texts.ts'
import { check, validate } from '../../core/input/validate.ts'
import { sha256Hex } from '../../core/secrets/crypto.ts'
import { findDiscussionIds } from '../discussions/discussions.ts'
import { type Discussion, withNulls } from '../discussions/fields.ts'
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
    id: z.string().transform(inLowerCase).nullish(),
    externalId: z.string().nullish(),
  })
  .superRefine((given, issues) => {
    const keys: readonly ('id' | 'externalId')[] = KEYS[given.__typename]
    if (keys.some((key) => given[key] != null)) return
    issues.addIssue({ code: 'custom', params: { code: 'required' }, message: `must have ${keys.join(' or ')}` })
  })

const representationsInput = z.object({ representations: z.array(z.unknown()).max(MAX_REPRESENTATIONS) })

/**
 * The objects that these representations name, in their order, each by the rule of its type's own
 * query; null where there is nothing that the caller may see. The statements are the same however
 * many there are. One that names no entity is its own error, `validation_failed`, because a gateway
 * joins those of many pages in one request. Throws `validation_failed` for too many.
 */
export async function findEntities(ctx: Ctx, given: readonly unknown[]): Promise<(FoundNode | ServiceError | null)[]> {
  const { representations } = validate(representationsInput, { representations: given })
  return Promise.all(
    representations.map(async (each, place) => {
      const read = readRepresentation(each, place)
      return read instanceof ServiceError ? read : findEntity(ctx, read)
    }),
  )
}

type Representation = z.output<typeof representation>

function readRepresentation(given: unknown, place: number): Representation | ServiceError {
  const result = check(representation, given)
  if ('data' in result) return result.data
  return validationFailed(
    result.errors.map((error) => ({ ...error, pointer: `/representations/${place}${error.pointer}` })),
  )
}

async function findEntity(ctx: Ctx, { __typename: type, id, externalId }: Representation): Promise<FoundNode | null> {
  // An id stays for good, so it counts where both are given.
  if (id != null) return findOfType(ctx, type, id)
  const found = await findId(ctx, type, externalId ?? '')
  if (found !== null) return findOfType(ctx, type, found)
  const isPage = type === 'Discussion' && externalIdSchema.safeParse(externalId).success
  return isPage ? { type, node: emptyDiscussion(ctx, externalId ?? '') } : null
}

const NEVER = new Date(0).toISOString()

/**
 * The discussion of a page that has no comments yet: the schema of another subgraph may say that
 * each page has one. Its id is steady, differs from page to page, and leads to nothing.
 */
function emptyDiscussion(ctx: Ctx, externalId: string): Discussion {
  const hash = sha256Hex(`${requireCaller(ctx).tenant.id} ${externalId}`)
  return withNulls({
    id: `00000000-0000-7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`,
    externalId,
    state: 'open',
    commentCount: 0,
    lastEventId: '0',
    createdAt: NEVER,
    updatedAt: NEVER,
  })
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
