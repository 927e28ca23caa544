import { Alert, Button, Center, Group, Text } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { IconAlertTriangle } from './icons.tsx'
import { type ReactNode, useEffect } from 'react'
import { ErrorBoundary, type FallbackProps } from 'react-error-boundary'

import { loadAgain, PartNotLoaded } from './lazy.ts'

/**
 * If its content fails, only its place in the page shows an error. A change of `resetKeys` shows
 * the content again.
 */
export const Boundary = ({ resetKeys, children }: { resetKeys?: unknown[]; children: ReactNode }) => (
  <ErrorBoundary FallbackComponent={Failed} onReset={loadAgain} {...(resetKeys === undefined ? {} : { resetKeys })}>
    {children}
  </ErrorBoundary>
)

function Failed({ error, resetErrorBoundary }: FallbackProps) {
  const isMissing = error instanceof PartNotLoaded
  useWindowEvent('online', () => isMissing && resetErrorBoundary())
  // The network may have come back before this was shown, and listened.
  useEffect(() => {
    if (error instanceof PartNotLoaded && error.isOutdated) resetErrorBoundary()
  }, [error, resetErrorBoundary])
  return (
    <Alert
      color="red"
      role="alert"
      icon={<IconAlertTriangle aria-hidden />}
      title={isMissing ? 'This part could not be loaded.' : 'Something went wrong here.'}
    >
      <Text size="sm">
        {isMissing
          ? 'The network or the service is not available. The page loads when you are online again.'
          : 'No data was changed. The browser’s console has the details.'}
      </Text>
      <Group gap="xs" mt="xs">
        <Button variant="default" size="compact-sm" onClick={() => resetErrorBoundary()}>
          Try again
        </Button>
      </Group>
    </Alert>
  )
}

/** Replaces the whole console if the frame around the pages has failed. */
export const AllFailed = () => (
  <Center mih="60vh" p="md">
    <Failed error={null} resetErrorBoundary={() => location.reload()} />
  </Center>
)
