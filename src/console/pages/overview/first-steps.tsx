import { Anchor, Code, List, Stack, Text, ThemeIcon, Title, VisuallyHidden } from '@mantine/core'
import { IconCheck } from '../../ui/icons.tsx'
import type { ReactNode } from 'react'
import { Link } from 'react-router'

import type { FirstStepsQuery } from '../../../generated/console.ts'
import { isPast } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

const SNIPPET = `<script type="module" src="${new URL('../widget.js', document.baseURI).href}"></script>
<engagement-thread discussion="article-123" backend="/engagement"></engagement-thread>`

/** A tenant's steps before anything can be counted, and its progress. */
export function FirstSteps({ apiKeys, readers }: Pick<FirstStepsQuery, 'apiKeys' | 'readers'>) {
  // The key of the first start has all capabilities, so it is not meant for a page's backend.
  const hasKey = apiKeys.nodes.some(
    ({ capabilities, revokedAt, expiresAt }) =>
      capabilities.length === 0 && revokedAt === null && (expiresAt === null || !isPast(expiresAt)),
  )
  return (
    <Stack component="section" maw={640} aria-label="First steps">
      <Title order={2} size="h4">
        First steps
      </Title>
      <Text size="sm">There are no comments yet. The figures begin with the first one.</Text>
      <List type="ordered" spacing="md">
        <Step number={1} isDone={hasKey}>
          <Anchor component={Link} to="/keys" underline="always">
            Create a key
          </Anchor>{' '}
          without capabilities for the backend of your pages: it can do what readers do, and no more. Put it where that
          backend reads its secrets.
        </Step>
        <Step number={2} isDone={readers.nodes.length > 0}>
          <Anchor component={Link} to="/identity" underline="always">
            Sign an identity
          </Anchor>{' '}
          for the reader who is signed in on your site: the page has a snippet for your backend’s language.
        </Step>
        <Step number={3} isDone={false}>
          Put the widget on a page:
          <Code block mt="xs" {...WRITTEN}>
            {SNIPPET}
          </Code>
        </Step>
      </List>
    </Stack>
  )
}

function Step({ number, isDone, children }: { number: number; isDone: boolean; children: ReactNode }) {
  return (
    <List.Item
      icon={
        <ThemeIcon size={24} radius="xl" variant="default">
          {isDone ? <IconCheck size={14} aria-hidden /> : <Text size="xs">{number}</Text>}
        </ThemeIcon>
      }
    >
      {isDone && <VisuallyHidden>Done: </VisuallyHidden>}
      {children}
    </List.Item>
  )
}
