import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { useState } from 'react'

import {
  TryTextDocument,
  type TrialOutcome,
  type TryTextQuery,
  type TryTextQueryVariables,
} from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { HOLD_REASONS } from '../../ui/hold-reasons.ts'
import { Problem } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { isSame } from './draft.ts'
import type { Value } from './table.ts'

/** The settings that rules read. */
const RULES = [
  'moderationMode',
  'bannedWords',
  'suspectWords',
  'maxLinks',
  'holdFirstComments',
  'holdRepeatedText',
  'holdAfterRejections',
] as const satisfies readonly (keyof TryTextQueryVariables['settings'])[]

const OUTCOMES: Readonly<Record<TrialOutcome, string>> = {
  approved: 'It would appear at once.',
  flagged: 'It would appear at once, and be in the queue “Reported”',
  pending: 'It would wait for a moderator',
  refused: 'It would be refused: has a banned word.',
}

/** What the rules, saved or not, would do to a text. */
export function TryText({ valueOf }: { valueOf: (path: string) => Value }) {
  const settings: TryTextQueryVariables['settings'] = Object.fromEntries(RULES.map((path) => [path, valueOf(path)]))
  const [body, setBody] = useState('')
  const [tried, setTried] = useState<TryTextQueryVariables | null>(null)
  // An answer counts until the text or a rule changes.
  const isTried = isSame(tried, { body, settings })
  const { data, error, isFetching, isPlaceholderData, refetch } = useApi(
    TryTextDocument,
    { body, settings },
    { enabled: isTried },
  )
  const isKnown = isTried && !isPlaceholderData && !isFetching
  const attempt = (): void => {
    if (isTried) void refetch()
    setTried({ body, settings })
  }
  return (
    <Stack gap="xs">
      <Textarea
        label="Try a text"
        description="What the rules above would do to a comment, saved or not. Nothing is posted."
        autosize
        minRows={2}
        maxRows={10}
        value={body}
        onChange={({ currentTarget }) => setBody(currentTarget.value)}
      />
      <Group gap="xs" align="flex-start">
        <Button
          size="compact-sm"
          variant="default"
          disabled={body.trim() === ''}
          loading={isTried && isFetching}
          onClick={attempt}
        >
          Try the text
        </Button>
        <Text size="sm" component="output" flex={1} miw={0} {...WRITTEN}>
          {isKnown && error === null && data !== undefined && said(data.moderationTrial)}
        </Text>
      </Group>
      {isKnown && error !== null && <Problem error={error} />}
    </Stack>
  )
}

type Trial = TryTextQuery['moderationTrial']

/** In words: the outcome, its rule, what the rule has found, and rules about the author. */
function said({ outcome, reason, details, dependsOnAuthor }: Trial): string {
  const found = [...new Set(details.map(({ match }) => match))].join(', ')
  const others = dependsOnAuthor.filter((each) => each !== reason).map((each) => HOLD_REASONS[each])
  return [
    reason === null ? OUTCOMES[outcome] : `${OUTCOMES[outcome]}: ${HOLD_REASONS[reason]}.`,
    found !== '' && (reason === 'repeated_text' ? `Posted before: ${found} times.` : `Found: ${found}.`),
    others.length > 0 && `It may also wait because of what its author wrote before: ${others.join(', ')}.`,
  ]
    .filter((each) => each !== false)
    .join(' ')
}
