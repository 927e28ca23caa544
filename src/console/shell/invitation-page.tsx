import { Alert, Button, Center, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { type FormEvent, useState } from 'react'
import { useNavigate } from 'react-router'

import { accept } from '../api/sign-in.ts'
import { useFocused } from '../ui/inputs/focused.ts'
import { CodeInput, isAbout, loginWords } from './sign-in.tsx'

/** What the link of an invitation opens; its token is what follows `#`. */
export function InvitationPage() {
  useDocumentTitle('Invitation · Engagement Service')
  const navigate = useNavigate()
  const [token] = useState(() => location.hash.slice(1))
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setIsBusy(true)
    setError(null)
    try {
      await accept({ token, password, ...(name !== '' && { name }), ...(code && { code }) })
      await navigate('/', { replace: true })
    } catch (refusal) {
      setIsBusy(false)
      if (isAbout(refusal, 'second_factor_required')) return setCode('')
      setError(
        isAbout(refusal, 'invalid_admin_token')
          ? 'You have an account already, of another tenant: give its password.'
          : loginWords(refusal),
      )
    }
  }
  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw={400}>
        <Title order={1} size="h3" mb="xs">
          You are invited
        </Title>
        <Text size="sm" c="dimmed" mb="lg">
          Choose a name and a password. If you sign in to another tenant here already, give the password of that.
        </Text>
        <form onSubmit={(event) => void submit(event)}>
          <Stack>
            {error !== null && (
              <Alert color="red" role="alert">
                {error}
              </Alert>
            )}
            <TextInput
              label="Name"
              description="Your colleagues see it"
              autoComplete="name"
              maxLength={80}
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
              ref={useFocused()}
            />
            <PasswordInput
              label="Password"
              description="At least 8 characters"
              autoComplete="new-password"
              required
              value={password}
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
            />
            {code !== null && <CodeInput value={code} onChange={setCode} />}
            <Button type="submit" loading={isBusy}>
              Accept the invitation
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  )
}
