import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'

import { Confirm } from './inputs/confirm.tsx'

/** Ends a secret at once, after a question that says what stops working. */
export function EndSecret({
  kid,
  children,
  onEnd,
}: {
  kid: string
  children: ReactNode
  onEnd: () => Promise<unknown>
}) {
  const [isAsking, setAsking] = useState(false)
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
