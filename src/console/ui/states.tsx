import { Alert, Anchor, Button, Center, Code, Loader, Stack, Text, Title, VisuallyHidden } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'react-router'

import { ApiError, wordsOf } from '../api/errors.ts'

export function Loading({ of = 'the page' }: { of?: string }) {
  return (
    <Center py="xl">
      <output>
        <Loader aria-hidden />
        <VisuallyHidden>Loading {of}</VisuallyHidden>
      </output>
    </Center>
  )
}

/** Nothing is there: `title` says what, the children what to do about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Stack align="center" gap="xs" py="xl" ta="center">
      <Text fw={600}>{title}</Text>
      {children !== undefined && (
        <Text size="sm" c="dimmed" component="div">
          {children}
        </Text>
      )}
    </Stack>
  )
}

/** What went wrong, in the service's words, and the way to try again. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const requestId = error instanceof ApiError ? error.requestId : null
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} role="alert" tabIndex={-1} title={wordsOf(error)}>
      {requestId !== null && (
        <Text size="xs">
          Request <Code>{requestId}</Code>
        </Text>
      )}
      {onRetry !== undefined && (
        <Button variant="default" size="compact-sm" mt="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Alert>
  )
}

export function NotFound() {
  return (
    <Center py="xl">
      <Stack align="center">
        <Title order={1} size="h2">
          There is no such page
        </Title>
        <Anchor component={Link} to="/">
          To the overview
        </Anchor>
      </Stack>
    </Center>
  )
}

/** What a query has to show: its answer, or that it loads, or why there is none. */
export function Answered<Data>({
  query,
  of,
  children,
}: {
  query: { data: Data | undefined; error: unknown; refetch: () => unknown }
  of: string
  children: (data: Data) => ReactNode
}) {
  const { data, error, refetch } = query
  if (data === undefined) {
    return error == null ? <Loading of={of} /> : <Problem error={error} onRetry={() => void refetch()} />
  }
  return (
    <>
      {/* What was known stays in view, and is said to be old. */}
      {error != null && <Problem error={error} onRetry={() => void refetch()} />}
      {children(data)}
    </>
  )
}
