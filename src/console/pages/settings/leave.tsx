import { Button, Group, Text } from '@mantine/core'
import { useEffect } from 'react'
import { useBlocker } from 'react-router'

import { Dialog } from '../../ui/inputs/dialog.tsx'

/** Asks before unsaved changes are left, for another page or by closing the tab. */
export function LeaveUnsaved({ isUnsaved }: { isUnsaved: boolean }) {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => isUnsaved && currentLocation.pathname !== nextLocation.pathname,
  )
  useEffect(() => {
    if (!isUnsaved) return
    // In the browser's words, which cannot be changed.
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isUnsaved])
  if (blocker.state !== 'blocked') return null
  return (
    <Dialog title="Leave without saving?" onClose={blocker.reset}>
      <Text size="sm" mb="md">
        What you have changed and not saved is lost.
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={blocker.proceed}>
          Leave
        </Button>
        <Button onClick={blocker.reset} data-autofocus>
          Stay
        </Button>
      </Group>
    </Dialog>
  )
}
