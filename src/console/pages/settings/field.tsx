import { Alert, Badge, Button, Group, Stack, Text } from '@mantine/core'

import { durationWords } from '../../ui/durations.ts'
import { formatNumber } from '../../ui/numbers.ts'
import { WRITTEN } from '../../ui/written.ts'
import { isSame } from './draft.ts'
import { choiceOf } from './labels.ts'
import { Input } from './input.tsx'
import { nameOf } from './objects.tsx'
import { entriesIn, type Field, labelOf, textIn, textsIn, type Value } from './table.ts'
import { WordList } from './word-list.tsx'

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
