import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useRef, useState } from 'react'

import { LoginDocument } from '../../generated/console.ts'
import { ApiError, wordsOf } from '../api/errors.ts'
import { send } from '../api/request.ts'
import { signedIn } from '../api/session.ts'

/** The login form. `email` is the required admin, if there is one. */
export function SignInForm({ email: known }: { email?: string }) {
  const [email, setEmail] = useState(known ?? '')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<string | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const emailRef = useRef<HTMLInputElement>(null)
  const passwordRef = useRef<HTMLInputElement>(null)
  const isKnown = known !== undefined
  // The form is the only thing on the page.
  useEffect(() => (isKnown ? passwordRef : emailRef).current?.focus(), [isKnown])
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setIsBusy(true)
    setError(null)
    try {
      const { login } = await send(LoginDocument, { input: { email, password } })
      // In the service's form, however it was typed, because other tabs compare it.
      signedIn({ ...login, email: email.trim().toLowerCase() })
    } catch (refusal) {
      setError(loginWords(refusal))
      setIsBusy(false)
      passwordRef.current?.focus()
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        {error !== null && (
          <Alert color="red" role="alert">
            {error}
          </Alert>
        )}
        <TextInput
          ref={emailRef}
          label="E-mail"
          type="email"
          autoComplete="username"
          required
          value={email}
          readOnly={isKnown}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          data-autofocus={!isKnown || undefined}
        />
        <PasswordInput
          ref={passwordRef}
          label="Password"
          autoComplete="current-password"
          required
          value={password}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
          data-autofocus={isKnown || undefined}
        />
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
      </Stack>
    </form>
  )
}

function loginWords(error: unknown): string {
  if (!(error instanceof ApiError)) return wordsOf(error)
  if (error.code === 'invalid_admin_token') return 'The e-mail address or the password is wrong.'
  if (error.code !== 'rate_limited') return wordsOf(error)
  const wait = error.retryAfterSeconds === null ? 'in a while' : `in ${error.retryAfterSeconds} s`
  return `Too many attempts. Try again ${wait}.`
}
