import { Button, Group, Text } from '@mantine/core'

import { IconArrowBackUp } from '../../ui/icons.tsx'
import { WRITTEN } from '../../ui/written.ts'

/** The result of the last action, and whether something can be undone. */
export interface Said {
  words: string
  canUndo: boolean
  /** How many results there were. */
  n: number
}

export const NOTHING_SAID: Said = { words: '', canUndo: false, n: 0 }

export const saidNext =
  (words: string, canUndo: boolean) =>
  ({ n }: Said): Said => ({ words, canUndo, n: n + 1 })

/** Says the result of the last action, and has the button that undoes it. */
export function SaidLast({ said, onUndo }: { said: Said; onUndo: () => void }) {
  return (
    <Group gap="xs" ms="auto" wrap="nowrap">
      {/* The same words said twice are two things done: what is read out must differ. */}
      <Text size="sm" component="output" {...WRITTEN}>
        {said.words}
        {said.n % 2 === 1 && '\u00a0'}
      </Text>
      {said.canUndo && (
        <Button
          size="compact-sm"
          variant="default"
          miw="fit-content"
          leftSection={<IconArrowBackUp size={14} aria-hidden />}
          aria-keyshortcuts="u"
          onClick={onUndo}
        >
          Undo
        </Button>
      )}
    </Group>
  )
}
