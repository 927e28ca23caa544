import { Box, Stack } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { type FormEvent, type ReactNode, useState } from 'react'

import { fieldErrors } from './field-errors.ts'
import { focusRefusal } from './refusal.ts'
import { Problem } from './states.tsx'

/**
 * A form in a dialog. What `send` rejects with stays in view above its fields, however long they are, and the focus goes
 * to the first of them that is wrong.
 */
export function Form<Values extends Record<string, unknown>>({
  form,
  send,
  children,
}: {
  form: UseFormReturnType<Values>
  send: (values: Values) => Promise<unknown>
  children: ReactNode
}) {
  const [error, setError] = useState<unknown>(null)
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    const element = event.currentTarget
    const refuse = (refusal: unknown): void => {
      setError(refusal)
      focusRefusal(element)
    }
    const sent = async (values: Values): Promise<void> => {
      try {
        await send(values)
      } catch (refusal) {
        form.setErrors(fieldErrors(refusal))
        refuse(refusal)
      }
    }
    form.onSubmit(sent, () => refuse(null))(event)
  }
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {error !== null && (
          <Box pos="sticky" top={0} bg="var(--mantine-color-body)" style={{ zIndex: 2 }}>
            <Problem error={error} />
          </Box>
        )}
        {children}
      </Stack>
    </form>
  )
}
