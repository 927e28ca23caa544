import { Alert, Anchor, Button, Center, Code, Loader, Stack, Text, VisuallyHidden } from '@mantine/core'
import { IconAlertTriangle } from './icons.tsx'
import type { ReactNode } from 'react'
import { Link } from 'react-router'

import { ApiError, isNotFound, wordsOf } from '../api/errors.ts'
import { PageFrame } from './page.tsx'

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

/** An empty state: `title` says what is missing, the children what to do about it. */
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

/** An error in the service's words, with a button to try again. */
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

/** The thing in the path does not exist, or no longer does; with a link to its list. */
export function NotFound({
  of = 'page',
  wasThere = false,
  list = { to: '/', label: 'Go to the overview' },
}: {
  of?: string
  wasThere?: boolean
  list?: { to: string; label: string }
}) {
  return (
    <PageFrame title={`There is no such ${of}${wasThere ? ' any more' : ''}`}>
      <Anchor component={Link} to={list.to}>
        {list.label}
      </Anchor>
    </PageFrame>
  )
}

/** The result of a query: its answer, a loading state, or its error. */
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
      {/* The last answer stays in view, marked as old. */}
      {error != null && <Problem error={error} onRetry={() => void refetch()} />}
      {children(data)}
    </>
  )
}

/**
 * The page of one thing by id, once it is loaded; or a message that there is none, with a link to
 * its `list`.
 */
export function Found<Data, One>({
  query,
  one,
  of,
  list,
  children,
}: {
  query: { data: Data | undefined; error: unknown; refetch: () => unknown }
  one: (data: Data) => One | null | undefined
  of: string
  list: { to: string; label: string }
  children: (found: One) => ReactNode
}) {
  const { data, error } = query
  if (isNotFound(error)) {
    return <NotFound of={of} list={list} wasThere={data !== undefined} />
  }
  return (
    <Answered query={query} of={`the ${of}`}>
      {(known) => {
        const found = one(known)
        return found != null && children(found)
      }}
    </Answered>
  )
}
