import { NumberInput, Radio, Stack, Switch, TagsInput, Text, TextInput } from '@mantine/core'

import { Described } from '../../ui/described.tsx'
import { DurationInput } from '../../ui/inputs/duration.tsx'
import { THOUSANDS } from '../../ui/numbers.ts'
import { choiceOf } from './labels.ts'
import { Objects } from './objects.tsx'
import { type Field, labelOf, textIn, textsIn, type Value } from './table.ts'

interface InputProps {
  field: Field
  value: Value
  error: string | null
  onChange: (value: Value) => void
}

/** The control of a setting. */
export function Input({ field, value, error, onChange }: InputProps) {
  const common = { label: labelOf(field), description: <Described text={field.description} />, error }
  switch (field.type) {
    case 'choice':
      return (
        <Radio.Group {...common} value={textIn(value)} onChange={onChange}>
          <Stack gap="xs" mt="xs">
            {field.values?.map((each) => (
              <Radio key={each.value} value={each.value} label={<Choice {...{ field, each }} />} />
            ))}
          </Stack>
        </Radio.Group>
      )
    case 'texts':
      return (
        <TagsInput
          {...common}
          value={[...textsIn(value)]}
          onChange={onChange}
          placeholder="Type one, or paste a list"
          // A pasted list may have a comma, a tab or a line break between its entries.
          splitChars={[',', '\t', '\n', '\r']}
          clearable
          clearButtonProps={{ 'aria-label': `Clear ${labelOf(field)}` }}
        />
      )
    case 'objects':
      return <Objects {...{ field, value, error, onChange }} />
    case 'text':
      return (
        <TextInput
          {...common}
          value={typeof value === 'string' ? value : ''}
          // Empty becomes null if null is allowed.
          onChange={({ currentTarget }) =>
            onChange(currentTarget.value === '' && field.isNullable ? null : currentTarget.value)
          }
          {...(field.bounds.maxLength === undefined ? {} : { maxLength: field.bounds.maxLength })}
        />
      )
    case 'switch':
      return (
        <Switch
          {...common}
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      )
    case 'integer':
      return field.isNullable ? (
        <NullableNumber {...{ field, value, error, onChange }} />
      ) : (
        <Whole {...{ field, value, error, onChange }} />
      )
  }
}

/** A value in words, and as the API has it. */
function Choice({ field, each }: { field: Field; each: NonNullable<Field['values']>[number] }) {
  return (
    <>
      <Described text={choiceOf(field.path, each)} />{' '}
      <Text span size="xs" c="dimmed">
        {each.value}
      </Text>
    </>
  )
}

function Whole({ field, value, error, onChange }: InputProps) {
  const amount = typeof value === 'number' ? value : ''
  if (field.unit !== null) {
    return (
      <DurationInput
        label={labelOf(field)}
        description={<Described text={field.description} />}
        error={error}
        value={amount}
        onChange={onChange}
        unit={field.unit}
        most={field.bounds.maximum}
      />
    )
  }
  return (
    <NumberInput
      label={labelOf(field)}
      description={<Described text={field.description} />}
      error={error}
      value={amount}
      // A number that is not whole or out of bounds is reported, not silently corrected.
      onChange={(next) => onChange(next === '' ? '' : Number(next))}
      clampBehavior="none"
      thousandSeparator={THOUSANDS}
      styles={{ wrapper: { maxWidth: 280 } }}
      {...(field.bounds.minimum === undefined ? {} : { min: field.bounds.minimum })}
      {...(field.bounds.maximum === undefined ? {} : { max: field.bounds.maximum })}
    />
  )
}

function NullableNumber(props: InputProps) {
  const { field, value, onChange } = props
  return (
    <Stack gap="xs">
      <Switch
        label={labelOf(field)}
        checked={value !== null}
        onChange={({ currentTarget }) => onChange(currentTarget.checked ? (field.bounds.minimum ?? 0) : null)}
      />
      {value !== null && <Whole {...props} />}
    </Stack>
  )
}
