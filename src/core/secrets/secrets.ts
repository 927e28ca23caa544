import { badCursor, decodeCursor, encodeCursor } from '../input/cursor.ts'
import { type Page, type PageArgs, pageOf, pageSize } from '../input/page.ts'
import { ServiceError } from '../errors.ts'

/**
 * The public fields of a stored secret. `expiresAt` is null for the current one, which does not
 * expire.
 */
export const PUBLIC_SECRET = { kid: true, createdAt: true, expiresAt: true } as const

export interface PublicSecret {
  kid: string
  createdAt: Date
  expiresAt: Date | null
}

type Select = typeof PUBLIC_SECRET

/** How Prisma reads a list of secrets. */
export const NEWEST_FIRST = {
  select: PUBLIC_SECRET,
  orderBy: [{ createdAt: 'desc' as const }, { kid: 'desc' as const }],
}

type SecretQuery<Where> = typeof NEWEST_FIRST & { where: Where; take?: number }

export interface SecretList<Owner> {
  findMany(query: SecretQuery<Owner>): Promise<PublicSecret[]>
}

/** A table of secrets, as Prisma has it. `Owner`: whose secrets they are. `Key`: names one. */
export interface SecretTable<Owner, Key> {
  updateMany(query: { where: Owner & { expiresAt: null }; data: { expiresAt: Date } }): Promise<unknown>
  findUnique(query: { where: Key; select: Select }): Promise<PublicSecret | null>
  update(query: { where: Key; data: { expiresAt: Date }; select: Select }): Promise<PublicSecret>
}

const KID = /^[0-9a-f]{8}$/

/** Throws `not_found` for a text that names no secret. */
export function requireKid(kid: string): void {
  if (!KID.test(kid)) throw new ServiceError('not_found')
}

/** How long a secret stays valid beside the one that replaces it (docs/guides/webhooks.md). */
const OVERLAP_MS = 24 * 3_600_000

/** Gives an owner's current secret its end, 24 h after `now`. The owner must be locked. */
export const retireCurrent = <Owner>(table: SecretTable<Owner, never>, owner: Owner, now: Date): Promise<unknown> =>
  table.updateMany({
    where: { ...owner, expiresAt: null },
    data: { expiresAt: new Date(now.getTime() + OVERLAP_MS) },
  })

/**
 * Ends a secret at `now`. One that has ended is unchanged: `after` is `before`. Its owner must be
 * locked. Throws `not_found`.
 */
export async function endSecret<Key>(
  table: SecretTable<never, Key>,
  where: Key,
  now = new Date(),
): Promise<{ before: PublicSecret; after: PublicSecret }> {
  const before = await table.findUnique({ where, select: PUBLIC_SECRET })
  if (before === null) throw new ServiceError('not_found')
  const hasEnded = before.expiresAt !== null && before.expiresAt.getTime() <= Date.now()
  const data = { expiresAt: now }
  return { before, after: hasEnded ? before : await table.update({ where, data, select: PUBLIC_SECRET }) }
}

/** A page of the secrets of one kind, without the secret texts, newest first. */
export async function pageOfSecrets(
  list: string,
  args: PageArgs,
  find: (query: SecretQuery<object>) => Promise<PublicSecret[]>,
): Promise<Page<PublicSecret>> {
  const size = pageSize(args)
  const after = readCursor(list, args.after)
  const where =
    after === null ? {} : { OR: [{ createdAt: { lt: after.createdAt } }, { ...after, kid: { lt: after.kid } }] }
  const rows = await find({ where, ...NEWEST_FIRST, take: size + 1 })
  return pageOf(rows, size, args, ({ createdAt, kid }) => encodeCursor(list, createdAt.getTime(), kid))
}

function readCursor(list: string, after: string | null | undefined): { createdAt: Date; kid: string } | null {
  const key = decodeCursor(list, 2, after)
  if (key === null) return null
  const [time = '', kid = ''] = key
  // At most 14 digits: PostgreSQL knows these years too.
  if (!/^\d{1,14}$/.test(time) || !KID.test(kid)) throw badCursor()
  return { createdAt: new Date(Number(time)), kid }
}
