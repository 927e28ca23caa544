import { columnsOf, fieldsOf, type NamesOf as Names, type RowOf, type StoredField } from '../../core/fields.ts'

/** The most characters of a claimed name. */
export const MAX_NAME_LENGTH = 80

type Field = StoredField & {
  /**
   * Who sees it: everybody sees the profile, which the tenant's backend asserts; moderators see the
   * rest of the record. A ban is one field in answers and items. `trust` is for those who moderate
   * content.
   */
  of: 'profile' | 'record' | 'ban' | 'trust'
  /** An assertion has it as a claim of this form, or not at all. */
  claim?: 'name' | 'url'
  /** Only this database needs it, so exports leave it out. */
  isInternal?: true
}

/** The fields of a reader, in the order of its JSON. */
export const FIELDS = {
  id: { type: 'uuid', of: 'profile', help: 'The id of the reader in this service.' },
  externalId: { type: 'text', of: 'profile', help: "The reader's id at the tenant (`sub` of the assertion)." },
  name: {
    type: 'text',
    isNullable: true,
    of: 'profile',
    claim: 'name',
    help: 'The name to show, if the tenant gave one.',
  },
  avatarUrl: {
    type: 'text',
    isNullable: true,
    of: 'profile',
    claim: 'url',
    help: 'An https picture of the reader.',
  },
  profileUrl: {
    type: 'text',
    isNullable: true,
    of: 'profile',
    claim: 'url',
    help: 'An https page about the reader.',
  },
  badges: {
    type: 'text[]',
    of: 'profile',
    help: 'The ids of their badges: at most 10. The public setting `badges` has their labels.',
  },
  assignedBadges: { type: 'text[]', of: 'record', help: 'The badges that moderators have given them.' },
  claimedBadges: { type: 'text[]', of: 'record', help: 'The badges that the last identity assertion gave them.' },
  /** When the tenant last vouched for the profile. */
  profileIssuedAt: { type: 'timestamptz', of: 'record' },
  bannedAt: { type: 'timestamptz', isNullable: true, of: 'ban' },
  /** Null: for good. */
  bannedUntil: { type: 'timestamptz', isNullable: true, of: 'ban' },
  banReason: { type: 'text', isNullable: true, of: 'ban' },
  /** Whether there is, or was until it ran out, a ban in shadow. */
  shadowBanned: { type: 'bool', of: 'ban' },
  trust: { type: 'reader_trust', of: 'trust', help: 'Which rules hold their comments.' },
  /** When the erasure began. */
  erasingAt: { type: 'timestamptz', isNullable: true, of: 'record', isInternal: true },
  createdAt: { type: 'timestamptz', of: 'record', help: 'When an identity assertion first named them.' },
} as const satisfies Record<string, Field>

type Fields = typeof FIELDS

type NamesOf<Kind> = Names<Fields, Kind>

/** A row of `readers`. */
export type Stored = RowOf<Fields>

const NAMES = fieldsOf(FIELDS)

/** A reader's profile in answers. */
export type Reader = Pick<Stored, NamesOf<{ of: 'profile' }>>

export const PROFILE = NAMES.filter((name): name is keyof Reader => FIELDS[name].of === 'profile')

/** SQL: the profile of a row of `readers`, in the order of its JSON. */
export const profileIn = (table: string): string => columnsOf(FIELDS, PROFILE, table)

export const profileOf = (row: Reader): Reader =>
  Object.fromEntries(PROFILE.map((name) => [name, row[name]])) as unknown as Reader

/** What an assertion says of a reader beside the id. Null where it says nothing. */
export type Claimed = Pick<Reader, NamesOf<{ claim: string }>>

export const CLAIMED = NAMES.filter((name): name is keyof Claimed => 'claim' in FIELDS[name])

/** The claimed fields, as `make` makes each of its name and its form. */
export const claimedAs = <Value>(
  make: (field: { name: keyof Claimed; claim: 'name' | 'url' }) => Value,
): Record<keyof Claimed, Value> =>
  Object.fromEntries(CLAIMED.map((name) => [name, make({ name, claim: FIELDS[name].claim })])) as Record<
    keyof Claimed,
    Value
  >

export const NO_CLAIMS = claimedAs(() => null)

type RecordsField = Extract<NamesOf<{ of: 'record' }>, NamesOf<{ help: string }>>

/** What callers with `RECORD_CAPABILITIES` see beside the profile and the ban. */
export const OF_RECORD = NAMES.filter(
  (name): name is RecordsField => FIELDS[name].of === 'record' && 'help' in FIELDS[name],
)

export type StoredBan = Pick<Stored, NamesOf<{ of: 'ban' }>>

export const NO_BAN: StoredBan = { bannedAt: null, bannedUntil: null, banReason: null, shadowBanned: false }

export const BAN = NAMES.filter((name): name is keyof StoredBan => FIELDS[name].of === 'ban')

/** SQL: all of a row of `readers`. */
export const READER_COLUMNS = `tenant_id AS "tenantId", ${columnsOf(FIELDS, NAMES)}`

export type ExportedColumn = Exclude<keyof Fields, NamesOf<{ isInternal: true }>>

/** What a tenant's export has of a reader. */
export const EXPORTED = NAMES.filter((name): name is ExportedColumn => !('isInternal' in FIELDS[name]))

/** What an erasure sets to null. */
export const ERASED = EXPORTED.filter((name) => 'isNullable' in FIELDS[name])
