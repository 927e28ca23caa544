import { Center, Code, Divider, Paper, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { Suspense, useState } from 'react'

import { isSignOnOffered } from '../api/sign-on.ts'
import { lazily } from '../ui/lazy.ts'
import { SignInForm } from './sign-in.tsx'

// Few people need it.
const SignOn = lazily(async () => (await import('./sign-on.tsx')).SignOn)

export function SignInPage() {
  useDocumentTitle('Sign in · Engagement Service')
  // Also where one has led here that was refused, which takes its hash away.
  const [hasSignOn] = useState(() => isSignOnOffered || location.hash.startsWith('#sign-on='))
  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={400}>
        <Title order={1} size="h3" mb="lg">
          Engagement Service
        </Title>
        <SignInForm />
        {hasSignOn && (
          <>
            <Divider my="lg" label="or" />
            <Suspense>
              <SignOn />
            </Suspense>
          </>
        )}
        <Text size="sm" c="dimmed" mt="lg">
          Lost the password? The operator of the service can set a new one:{' '}
          <Code>npm run cli -- member password --tenant … --email …</Code>
        </Text>
      </Paper>
    </Center>
  )
}
