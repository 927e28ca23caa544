import { Button, CloseButton, Group, Input, NativeSelect, Stack, TextInput } from '@mantine/core'

import { Described } from '../../ui/described.tsx'
import { entriesIn, type Entry, type Field, labelOf, textIn, type Value } from './table.ts'

interface ObjectsProps {
  field: Field
  value: Value
  error: string | null
  onChange: (value: Value) => void
}

/** What a list calls one of its objects. */
export const nameOf = ({ label, id = '' }: Entry): string => label || id

/** The control of a list of objects: a line for each, with its texts and choices. */
export function Objects({ field, value, error, onChange }: ObjectsProps) {
  const entries = entriesIn(value)
  const items = field.items ?? []
  const put = (at: number, ...entry: Entry[]): void => onChange(entries.toSpliced(at, 1, ...entry))
  const added = (): Entry => Object.fromEntries(items.map((item) => [item.path, textIn(item.default)]))
  const { maxItems = Infinity } = field.bounds
  return (
    <Input.Wrapper
      label={labelOf(field)}
      labelElement="div"
      description={<Described text={field.description} />}
      error={error}
    >
      <Stack gap="xs" mt="xs" align="flex-start">
        {entries.map((entry, at) => (
          // Entries have no id that stays while it is typed.
          <Group key={at} gap="xs">
            {items.map(({ path, values, bounds }) => {
              const common = {
                'aria-label': `${path} of entry ${at + 1}`,
                title: path,
                value: entry[path] ?? '',
                onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
                  put(at, { ...entry, [path]: currentTarget.value }),
              }
              return values === null ? (
                <TextInput key={path} {...common} placeholder={path} maxLength={bounds.maxLength ?? 32} />
              ) : (
                <NativeSelect key={path} {...common} data={values.map((each) => each.value)} />
              )
            })}
            <CloseButton aria-label={`Remove entry ${at + 1}`} onClick={() => put(at)} />
          </Group>
        ))}
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Add to ${labelOf(field)}`}
          disabled={entries.length >= maxItems}
          onClick={() => onChange([...entries, added()])}
        >
          Add
        </Button>
      </Stack>
    </Input.Wrapper>
  )
}
