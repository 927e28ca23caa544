import { Alert, Badge, Button, Group, List, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import { durationWords } from '../../ui/durations.ts'
import { formatNumber } from '../../ui/numbers.ts'
import { WRITTEN } from '../../ui/written.ts'
import { isSame } from './draft.ts'
import { choiceOf } from './labels.ts'
import { Input } from './input.tsx'
import { nameOf } from './objects.tsx'
import { entriesIn, type Field, labelOf, textIn, textsIn, type Value } from './table.ts'
import { WordMatchesDocument, type WordMatchesQuery } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { Problem } from '../../ui/states.tsx'

const WORD_LISTS: readonly string[] = ['bannedWords', 'suspectWords']

interface FieldProps {
  field: Field
  value: Value
  isChanged: boolean
  error: string | null
  /** The value that another admin has set meanwhile. */
  theirs: { value: Value } | null
  onChange: (value: Value) => void
  onTakeTheirs: () => void
  onKeepMine: () => void
}

/** A value in words. */
export function shown({ path, unit, values }: Field, value: Value): string {
  const choice = values?.find((each) => each.value === value)
  if (choice !== undefined) return choiceOf(path, choice)
  if (value === null || value === '') return 'none'
  if (Array.isArray(value)) return [...textsIn(value), ...entriesIn(value).map(nameOf)].join(', ') || 'none'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value !== 'number') return textIn(value)
  return unit === null ? formatNumber(value) : durationWords(value, unit)
}

/** One setting: its description, its default, and a way back to it. */
export function SettingField(props: FieldProps) {
  const { field, value, isChanged, theirs, onChange, onTakeTheirs, onKeepMine } = props
  return (
    <Stack gap={6} id={field.path}>
      <Input {...props} />
      <Group gap="xs" mih={26}>
        <Text size="xs" c="dimmed" {...WRITTEN}>
          Default: {shown(field, field.default)}
        </Text>
        {!isSame(value, field.default) && (
          <Button
            size="compact-xs"
            variant="subtle"
            aria-label={`Reset to default: ${labelOf(field)}`}
            onClick={() => onChange(field.default)}
          >
            Reset to default
          </Button>
        )}
        {isChanged && <Badge>not saved</Badge>}
      </Group>
      {WORD_LISTS.includes(field.path) && <WordList label={labelOf(field)} words={textsIn(value)} />}
      {theirs !== null && (
        <Alert color="yellow" p="xs" title={`Somebody else has set this to ${shown(field, theirs.value)} meanwhile.`}>
          <Group gap="xs">
            <Button size="compact-sm" variant="default" onClick={onTakeTheirs}>
              Take theirs
            </Button>
            <Button size="compact-sm" variant="default" onClick={onKeepMine}>
              Keep mine
            </Button>
          </Group>
        </Alert>
      )}
    </Stack>
  )
}

/** Why a value cannot be sent; null if it can. The service reports further errors. */
export function mistakeIn({ type, unit, bounds, isNullable }: Field, value: Value): string | null {
  if (Array.isArray(value) && value.length > (bounds.maxItems ?? Infinity)) {
    return `There are ${formatNumber(value.length)} entries, and at most ${formatNumber(bounds.maxItems ?? 0)} are allowed.`
  }
  if (type !== 'integer' || (isNullable && value === null)) return null
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = bounds
  if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return null
  if (unit !== null) return `Give a time from ${durationWords(minimum, unit)} to ${durationWords(maximum, unit)}.`
  return `Give a whole number from ${formatNumber(minimum)} to ${formatNumber(maximum)}.`
}

const SHOWN_ENTRIES = 10

/** How the entries of a word list match, and what the list, saved or not, would have caught. */
function WordList({ label, words }: { label: string; words: readonly string[] }) {
  const [tried, setTried] = useState<readonly string[] | null>(null)
  const isTried = tried !== null && isSame(tried, words)
  const { data, error, isFetching, isPlaceholderData, refetch } = useApi(
    WordMatchesDocument,
    { words: [...words] },
    { enabled: isTried },
  )
  const isKnown = isTried && !isPlaceholderData && !isFetching
  return (
    <Stack gap={6}>
      <List size="xs" c="dimmed">
        <List.Item>
          An entry matches whole words, in any case: spam is not in antispam. A * at an end means parts of words: *spam*
          is.
        </List.Item>
        <List.Item>
          Without accents it also matches accented forms: idiot is in ïdiot. With accents it matches these alone.
          Letters of their own, such as ñ, ı, ł, ø, ä, ö, ü, å and those of Vietnamese, match only themselves.
        </List.Item>
        <List.Item>Punctuation in it must be in the text: C++ is not in vitamin C.</List.Item>
      </List>
      <Group gap="xs">
        <Button
          size="compact-sm"
          variant="default"
          disabled={words.length === 0}
          loading={isTried && isFetching}
          aria-label={`Try on the latest comments: ${label}`}
          onClick={() => {
            if (isTried) void refetch()
            setTried(words)
          }}
        >
          Try on the latest comments
        </Button>
        <Text size="sm" component="output" {...WRITTEN}>
          {isKnown && error === null && data?.wordMatches != null && said(data.wordMatches)}
        </Text>
      </Group>
      {isKnown && error !== null && <Problem error={error} />}
    </Stack>
  )
}

function said({ comments, matched, entries }: NonNullable<WordMatchesQuery['wordMatches']>): string {
  if (matched === 0) return `It is in none of the last ${formatNumber(comments)} comments.`
  const first = entries.slice(0, SHOWN_ENTRIES).map((each) => `${each.entry} (${formatNumber(each.matched)})`)
  const more = entries.length > SHOWN_ENTRIES ? ` and ${formatNumber(entries.length - SHOWN_ENTRIES)} more entries` : ''
  return `It is in ${formatNumber(matched)} of the last ${formatNumber(comments)} comments: ${first.join(', ')}${more}.`
}
