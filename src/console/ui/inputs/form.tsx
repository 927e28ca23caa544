import { Box, Button, Group, type MantineColor, Stack } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { type FormEvent, type ReactNode, useState } from 'react'

import { type Labels, refusalOf } from '../../api/errors.ts'
import { focusRefusal } from '../refusal.ts'
import { Problem } from '../states.tsx'

/**
 * A form in a dialog. Errors of `send` are shown at the fields that they name, which get the focus;
 * the others are shown above the fields, scrolled into view. With `onCancel`, it ends with the
 * buttons of a dialog.
 */
export function Form<Values extends Record<string, unknown>>({
  form,
  labels,
  send,
  action,
  color,
  onCancel,
  children,
}: {
  form: UseFormReturnType<Values>
  labels: Labels
  send: (values: Values) => Promise<unknown>
  /** The label of the button that sends. */
  action?: string
  color?: MantineColor
  onCancel?: () => void
  children: ReactNode
}) {
  const [error, setError] = useState<unknown>(null)
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    const element = event.currentTarget
    const refuse = (rest: unknown): void => {
      setError(rest)
      focusRefusal(element)
    }
    const sent = async (values: Values): Promise<void> => {
      try {
        await send(values)
      } catch (refusal) {
        const { fields, rest } = refusalOf(refusal, labels)
        form.setErrors(fields)
        refuse(rest)
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
        {onCancel !== undefined && (
          <Group justify="flex-end">
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
            <Button type="submit" {...(color === undefined ? {} : { color })} loading={form.submitting}>
              {action}
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  )
}
