import { Button, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'

import { wholeTime } from './clock.ts'
import { Confirm } from './inputs/confirm.tsx'
import { isPast } from './time.tsx'

export interface Secret {
  kid: string
  /** Null for one that lasts until another replaces it. */
  expiresAt: string | null
}

export const isLive = ({ expiresAt }: Secret): boolean => expiresAt === null || !isPast(expiresAt)

/** Of secrets that expire, the live one that does so last. */
export const lastOf = (secrets: readonly Secret[]): { kid: string; expiresAt: string } | undefined =>
  secrets
    .flatMap(({ kid, expiresAt }) => (expiresAt === null || isPast(expiresAt) ? [] : [{ kid, expiresAt }]))
    .sort((one, other) => Date.parse(other.expiresAt) - Date.parse(one.expiresAt))[0]

/**
 * Ends a secret at once, after a question that says what stops working. The only one has to be
 * replaced before, so that nothing stops unseen. Where all others expire, the question says when.
 */
export function EndSecret({
  kid,
  secrets,
  replace,
  stops,
  children,
  onEnd,
}: {
  kid: string
  /** All there are. */
  secrets: readonly Secret[]
  /** What makes another one, as the page's button says it: `rotate the secret`. */
  replace: string
  /** What happens without a secret: `No reader is identified`. */
  stops: string
  children: ReactNode
  onEnd: () => Promise<unknown>
}) {
  const [isAsking, setAsking] = useState(false)
  const others = secrets.filter((each) => each.kid !== kid && isLive(each))
  const last = others.some(({ expiresAt }) => expiresAt === null) ? undefined : lastOf(others)
  if (others.length === 0 && !isAsking) {
    return (
      <Text span size="xs" c="dimmed">
        To end it, {replace} first.
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
          {last !== undefined &&
            ` ${stops} after ${wholeTime(last.expiresAt)}, when ${last.kid} expires, unless you ${replace} before.`}
        </Confirm>
      )}
    </>
  )
}
