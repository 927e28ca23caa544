import { Text } from '@mantine/core'

import { type Decision, wordsOfDecision } from './decision.ts'
import { WRITTEN } from './written.ts'

/** What the author of a comment was told with the last decision on it, if anything. */
export function Told({ decision }: { decision: Decision | null | undefined }) {
  const words = wordsOfDecision(decision)
  if (words === '') return null
  return (
    <Text size="sm" {...WRITTEN}>
      <Text span inherit c="dimmed">
        Told to the author:{' '}
      </Text>
      <bdi>{words}</bdi>
    </Text>
  )
}
