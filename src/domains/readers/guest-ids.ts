import { isId, newId } from '../../core/ids.ts'

const PREFIX = 'guest:'

/** The external id of a new guest, which says all of them apart from readers of the tenant. */
export const newGuestId = (): string => `${PREFIX}${newId()}`

/**
 * Whether an external id is one of a guest. No assertion and no token may have such a `sub`: it
 * would be another person's.
 */
export const isGuestId = (externalId: string): boolean =>
  externalId.startsWith(PREFIX) && isId(externalId.slice(PREFIX.length))

/** Who vouches for a reader: the tenant, or a confirmed e-mail address. */
export type ReaderKind = 'reader' | 'guest'

export const kindOf = (externalId: string): ReaderKind => (isGuestId(externalId) ? 'guest' : 'reader')
