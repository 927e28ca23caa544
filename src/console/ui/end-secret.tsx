import { Button, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'

import { Confirm } from './inputs/confirm.tsx'

/**
 * Ends a secret at once, after a question that says what stops working. The only one has to be
 * replaced before, so that nothing stops unseen.
 */
export function EndSecret({
  kid,
  isOnly,
  children,
  onEnd,
}: {
  kid: string
  /** Whether no other secret is in force. */
  isOnly: boolean
  children: ReactNode
  onEnd: () => Promise<unknown>
}) {
  const [isAsking, setAsking] = useState(false)
  if (isOnly && !isAsking) {
    return (
      <Text span size="xs" c="dimmed">
        To end it, create another one first.
      </Text>
    )
  }
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={() => setAsking(true)} aria-label={`End ${kid}`}>
        End
      </Button>
      {isAsking && (
        <Confirm title={`End ${kid} now?`} action="End the secret" onConfirm={onEnd} onClose={() => setAsking(false)}>
          {children}
        </Confirm>
      )}
    </>
  )
}
