import type { TeamQuery } from '../../../generated/console.ts'
import { decoded } from '../../ui/page-name.ts'

type Decider = NonNullable<TeamQuery['analyticsTeam']>['deciders'][number]

const KINDS = { admin: 'Member', key: 'API key', system: 'The service' } as const satisfies Record<
  Decider['kind'],
  string
>

/** The audit log forgets removed members at last. */
export const nameOf = ({ kind, id, name }: Pick<Decider, 'kind' | 'id' | 'name'>): string =>
  name ?? (id === null ? KINDS[kind] : `${KINDS[kind]} …${id.slice(-8)}`)

/** A section as it is written in addresses: `caf%C3%A9` is café. */
export function sectionName(section: string | null): string {
  if (section === null) return 'Pages without a URL'
  if (section === '') return 'Front page'
  return decoded(section, decodeURIComponent)
}
