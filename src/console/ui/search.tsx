import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from './icons.tsx'
import { useState } from 'react'

/** What a list is searched for. It is passed on once the typing rests. */
export function Search({
  label,
  value,
  onChange,
  flex,
  hasFocus = false,
}: {
  label: string
  value: string | null
  onChange: (value: string | null) => void
  /** How much of a row it takes. In a column it would be its height. */
  flex?: string
  /** Whether a dialog begins with it. */
  hasFocus?: boolean
}) {
  const [text, setText] = useState(value ?? '')
  const pass = useDebouncedCallback((typed: string) => onChange(typed.trim()), 250)
  return (
    <TextInput
      type="search"
      label={label}
      maxLength={255}
      leftSection={<IconSearch size={16} aria-hidden />}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value)
        pass(currentTarget.value)
      }}
      // In a form it would be taken for the form's own.
      onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      data-autofocus={hasFocus || undefined}
      {...(flex === undefined ? {} : { flex })}
    />
  )
}
