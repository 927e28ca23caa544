import { Anchor, Button, Stack, Text, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'react-router'

import { Breakable } from '../../ui/breakable.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { type AuditChange, changesOf } from './changes.ts'
import { fieldWords, valueWords } from './words.ts'

const FEW = 3

/** The changed fields of a kind of target: the old value, struck through, and the new one. */
export function Difference({ type, before, after }: { type: string; before: unknown; after: unknown }) {
  const [isWhole, setWhole] = useState(false)
  const changes = changesOf(before, after, (field, text) => valueWords(type, field, text))
  if (changes.length === 0) return <Text size="sm">–</Text>
  const rest = changes.length - FEW
  return (
    <Stack gap={2} align="flex-start">
      {(isWhole ? changes : changes.slice(0, FEW)).map((change) => (
        <OneChange key={change.field} type={type} change={change} />
      ))}
      {rest > 0 && (
        <Button variant="subtle" size="compact-xs" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show ${rest} more`}
        </Button>
      )}
    </Stack>
  )
}

/** Fields with the id of something that has a page: nobody reads a UUID. */
const PAGES: Readonly<Record<string, { path: string; words: string }>> = {
  readerId: { path: '/readers', words: 'the reader' },
  into: { path: '/readers', words: 'into this reader' },
  discussionId: { path: '/discussions', words: 'the discussion' },
}

function OneChange({ type, change: { field, before, after } }: { type: string; change: AuditChange }) {
  const page = PAGES[field]
  const id = after ?? before
  if (page !== undefined && id !== null) {
    return (
      <Anchor component={Link} to={`${page.path}/${id}`} size="sm" underline="always">
        {page.words}
      </Anchor>
    )
  }
  return (
    <Text size="sm" component="div" {...WRITTEN}>
      <Text span size="sm" c="dimmed" title={field}>
        {fieldWords(type, field)}
      </Text>{' '}
      {before !== null && (
        <>
          <VisuallyHidden>was </VisuallyHidden>
          <del>
            <Breakable text={before} />
          </del>{' '}
        </>
      )}
      {after !== null && (
        <>
          <VisuallyHidden>is </VisuallyHidden>
          <ins style={{ textDecoration: 'none', fontWeight: 500 }}>
            <Breakable text={after} />
          </ins>
        </>
      )}
    </Text>
  )
}
