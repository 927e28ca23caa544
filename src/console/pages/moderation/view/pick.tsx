import { Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'

import {
  DiscussionDocument,
  DiscussionsDocument,
  ReaderDocument,
  ReadersDocument,
} from '../../../../generated/console.ts'
import { useApi } from '../../../api/queries.ts'
import { namesApart } from '../../../ui/names-apart.ts'
import { pageName } from '../../../ui/page-name.ts'
import { WRITTEN } from '../../../ui/written.ts'

interface PickProps {
  value: string | null
  onChange: (id: string | null) => void
}

interface Choice {
  id: string
  externalId: string
}

/** How long the person pauses before their words are looked for. */
const PAUSE_MS = 250
const SHOWN = 10

/** Finds a reader by words. */
export function PickReader({ value, onChange }: PickProps) {
  const [search, setSearch] = useSearched()
  const { data } = useApi(ReadersDocument, { search, first: SHOWN })
  const chosen = useApi(ReaderDocument, { id: value ?? '' }, { enabled: value !== null })
  return (
    <Pick
      label="Reader"
      value={value}
      onChange={onChange}
      onSearch={setSearch}
      found={data?.readers.nodes ?? []}
      chosen={chosen.data?.reader}
      labelOf={({ name, externalId }) => name ?? externalId}
    />
  )
}

/** Finds a discussion by words. */
export function PickDiscussion({ value, onChange }: PickProps) {
  const [search, setSearch] = useSearched()
  const { data } = useApi(DiscussionsDocument, { search, first: SHOWN })
  const chosen = useApi(DiscussionDocument, { id: value ?? '' }, { enabled: value !== null })
  return (
    <Pick
      label="Page"
      value={value}
      onChange={onChange}
      onSearch={setSearch}
      found={data?.discussions.nodes ?? []}
      chosen={chosen.data?.discussion}
      labelOf={pageName}
    />
  )
}

function useSearched(): [string | null, (text: string) => void] {
  const [text, setText] = useState('')
  const [search] = useDebouncedValue(text.trim(), PAUSE_MS)
  return [search === '' ? null : search.slice(0, 255), setText]
}

function Pick<One extends Choice>({
  label,
  value,
  onChange,
  onSearch,
  found,
  chosen,
  labelOf,
}: PickProps & {
  label: string
  onSearch: (text: string) => void
  found: readonly One[]
  /** The one with the id `value`, once it is known; an earlier one until then. */
  chosen: One | null | undefined
  labelOf: (one: One) => string
}) {
  const isKnown = found.some(({ id }) => id === value)
  const all = isKnown || chosen?.id !== value || chosen == null ? found : [chosen, ...found]
  const labels = namesApart(all, labelOf)
  const data = all.map(({ id }, index) => ({ value: id, label: labels[index] ?? id }))
  // The label of the chosen one stands in the field, too: it is no search.
  const isChosen = (text: string): boolean => data.some((each) => each.value === value && each.label === text)
  return (
    <Select
      label={label}
      placeholder="Any"
      data={value === null || data.some((each) => each.value === value) ? data : [{ value, label: '…' }, ...data]}
      value={value}
      onChange={onChange}
      onSearchChange={(text) => onSearch(isChosen(text) ? '' : text)}
      // The service has searched already.
      filter={({ options }) => options}
      nothingFoundMessage="Nothing was found"
      renderOption={({ option }) => <span {...WRITTEN}>{option.label}</span>}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': `Any ${label.toLowerCase()}` }}
      flex="1 1 170px"
    />
  )
}
