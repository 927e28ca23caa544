import { Button, Group, Select } from '@mantine/core'
import { useSearchParams } from 'react-router'

import ACTIONS from '../../../generated/audit-actions.json' with { type: 'json' }
import { Day, midnight } from '../../ui/inputs/day.tsx'
import { useFilter } from '../../ui/inputs/filters.ts'
import { actionWords, kindWords } from './words.ts'

const choiceOf = (action: string) => ({ value: action, label: actionWords(action) })

const GROUPS = Object.entries(ACTIONS).map(([group, verbs]) => ({
  group: kindWords(group),
  items: Object.keys(verbs).map((verb) => choiceOf(`${group}.${verb}`)),
}))

const isKnown = (action: string): boolean => GROUPS.some(({ items }) => items.some(({ value }) => value === action))

const ACTORS = [
  { value: 'admin', label: 'Admins' },
  { value: 'key', label: 'API keys' },
  { value: 'system', label: 'The service' },
]

interface Filter {
  value: string | null
  set: (value: string | null) => void
}

type Name = 'action' | 'actor' | 'from' | 'to'

/** The filters in the URL. Days are in the viewer's time zone, and `to` is included. */
export function useAuditFilters() {
  const filters: Record<Name, Filter> = {
    action: useNamed('action'),
    actor: useNamed('actor'),
    from: useNamed('from'),
    to: useNamed('to'),
  }
  const variables = {
    action: filters.action.value,
    actor: filters.actor.value,
    from: midnight(filters.from.value, 0),
    to: midnight(filters.to.value, 1),
  }
  return { filters, variables, isFiltered: Object.values(filters).some(({ value }) => value !== null) }
}

function useNamed(name: Name): Filter {
  const [value, set] = useFilter(name)
  return { value, set }
}

export function AuditFilters({ filters: { action, actor, from, to } }: { filters: Record<Name, Filter> }) {
  const [, setParams] = useSearchParams()
  const actors = ACTORS.some(({ value }) => value === actor.value) || actor.value === null ? [] : [actor.value]
  return (
    <Group align="flex-end" gap="sm">
      <Select
        label="Action"
        placeholder="Any"
        data={
          action.value === null || isKnown(action.value)
            ? GROUPS
            : [...GROUPS, { group: 'Others', items: [choiceOf(action.value)] }]
        }
        searchable
        clearable
        {...picked(action)}
      />
      <Select
        label="By"
        placeholder="Anybody"
        data={[...ACTORS, ...actors.map((id) => ({ value: id, label: `One alone (…${id.slice(-8)})` }))]}
        clearable
        {...picked(actor)}
      />
      <Day label="From" filter={from} />
      <Day label="Until" filter={to} />
      {[action, actor, from, to].some(({ value }) => value !== null) && (
        <Button variant="subtle" onClick={() => setParams({}, { replace: true })}>
          Clear the filters
        </Button>
      )}
    </Group>
  )
}

const picked = ({ value, set }: Filter) => ({
  value,
  onChange: set,
  clearButtonProps: { 'aria-label': 'Clear' },
  flex: '1 1 140px',
})
