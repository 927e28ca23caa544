import { Button, Group, List, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import { WordMatchesDocument, type WordMatchesQuery } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { formatNumber } from '../../ui/numbers.ts'
import { Problem } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { isSame } from './draft.ts'

const SHOWN_ENTRIES = 10

/** How the entries of a word list match, and what the list, saved or not, would have caught. */
export function WordList({ label, words }: { label: string; words: readonly string[] }) {
  const [tried, setTried] = useState<readonly string[] | null>(null)
  const isTried = tried !== null && isSame(tried, words)
  const { data, error, isFetching, isPlaceholderData, refetch } = useApi(
    WordMatchesDocument,
    { words: [...words] },
    { enabled: isTried },
  )
  const isKnown = isTried && !isPlaceholderData && !isFetching
  return (
    <Stack gap={6}>
      <List size="xs" c="dimmed">
        <List.Item>
          An entry matches whole words, in any case: spam is not in antispam. A * at an end means parts of words: *spam*
          is.
        </List.Item>
        <List.Item>
          Without accents it also matches accented forms: idiot is in ïdiot. With accents it matches these alone.
          Letters of their own, such as ñ, ı, ł, ø, ä, ö, ü, å and those of Vietnamese, match only themselves.
        </List.Item>
        <List.Item>Punctuation in it must be in the text: C++ is not in vitamin C.</List.Item>
      </List>
      <Group gap="xs">
        <Button
          size="compact-sm"
          variant="default"
          disabled={words.length === 0}
          loading={isTried && isFetching}
          aria-label={`Try on the latest comments: ${label}`}
          onClick={() => {
            if (isTried) void refetch()
            setTried(words)
          }}
        >
          Try on the latest comments
        </Button>
        <Text size="sm" component="output" {...WRITTEN}>
          {isKnown && error === null && data?.wordMatches != null && said(data.wordMatches)}
        </Text>
      </Group>
      {isKnown && error !== null && <Problem error={error} />}
    </Stack>
  )
}

function said({ comments, matched, entries }: NonNullable<WordMatchesQuery['wordMatches']>): string {
  if (matched === 0) return `It is in none of the last ${formatNumber(comments)} comments.`
  const first = entries.slice(0, SHOWN_ENTRIES).map((each) => `${each.entry} (${formatNumber(each.matched)})`)
  const more = entries.length > SHOWN_ENTRIES ? ` and ${formatNumber(entries.length - SHOWN_ENTRIES)} more entries` : ''
  return `It is in ${formatNumber(matched)} of the last ${formatNumber(comments)} comments: ${first.join(', ')}${more}.`
}
