import { Button, Group, type MantineColor, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'

import { Dialog } from './dialog.tsx'
import { focusRefusal } from '../refusal.ts'
import { Problem } from '../states.tsx'

/**
 * A text without characters that cannot be typed: an id may contain them, but the person is asked
 * for the rest.
 */
const typable = (text: string): string =>
  text
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()

/**
 * Asks before an action that cannot be undone, or that others notice. With `typed`, the person must
 * type that text first. It stays open during `onConfirm`, and shows its error.
 */
export function Confirm({
  title,
  children,
  action,
  color = 'red.9',
  typed,
  isReady = true,
  onConfirm,
  onClose,
}: {
  title: string
  children: ReactNode
  /** The button's label: the action. */
  action: string
  color?: MantineColor
  typed?: string
  /** Whether all necessary choices are made. */
  isReady?: boolean
  onConfirm: () => Promise<unknown>
  onClose: () => void
}) {
  const [text, setText] = useState('')
  const asked = typed === undefined ? null : typable(typed) || action
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setIsBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget
    setIsBusy(true)
    try {
      await onConfirm()
      onClose()
    } catch (refusal) {
      setError(refusal)
      setIsBusy(false)
      focusRefusal(form)
    }
  }
  return (
    <Dialog onClose={onClose} title={title}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          <Text size="sm" component="div">
            {children}
          </Text>
          {error !== null && <Problem error={error} />}
          {asked !== null && (
            <TextInput
              label={`Type ${asked} to go on`}
              value={text}
              onChange={({ currentTarget }) => setText(currentTarget.value)}
              // Otherwise the first choice gets the focus.
              data-autofocus={isReady || undefined}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose} data-autofocus={asked === null || undefined}>
              Cancel
            </Button>
            <Button
              color={color}
              type="submit"
              loading={isBusy}
              disabled={!isReady || (asked !== null && typable(text) !== asked)}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
