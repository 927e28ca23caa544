import { ServiceError } from './errors.ts'
import { badCursor, decodeCursor, encodeCursor, type Page, type PageArgs, pageOf, pageSize } from './cursor.ts'

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

export const hasEnded = ({ expiresAt }: PublicSecret): boolean =>
  expiresAt !== null && expiresAt.getTime() <= Date.now()

const KID = /^[0-9a-f]{8}$/

/** Throws `not_found` for a text that names no secret. */
export function requireKid(kid: string): void {
  if (!KID.test(kid)) throw new ServiceError('not_found')
}

/** The secrets after the cursor, newest first: what Prisma looks for. */
interface SecretQuery {
  where: object
  select: typeof PUBLIC_SECRET
  orderBy: [{ createdAt: 'desc' }, { kid: 'desc' }]
  take: number
}

/** A page of the secrets of one kind, without the secret texts, newest first. */
export async function pageOfSecrets(
  list: string,
  args: PageArgs,
  find: (query: SecretQuery) => Promise<PublicSecret[]>,
): Promise<Page<PublicSecret>> {
  const size = pageSize(args)
  const after = readCursor(list, args.after)
  const where =
    after === null ? {} : { OR: [{ createdAt: { lt: after.createdAt } }, { ...after, kid: { lt: after.kid } }] }
  const rows = await find({
    where,
    select: PUBLIC_SECRET,
    orderBy: [{ createdAt: 'desc' }, { kid: 'desc' }],
    take: size + 1,
  })
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
