import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '../icons.tsx'
import { useState } from 'react'

/** The search text of a list. It is passed on when the person stops typing. */
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
  /** Its share of a row. In a column it would be its height. */
  flex?: string
  /** Whether it gets a dialog's initial focus. */
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
      // Otherwise Enter would submit the enclosing form.
      onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      data-autofocus={hasFocus || undefined}
      {...(flex === undefined ? {} : { flex })}
    />
  )
}
