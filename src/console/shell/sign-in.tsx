import { Alert, Button, NativeSelect, PasswordInput, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useRef, useState } from 'react'

import { ApiError, type Choice, wordsOf } from '../api/errors.ts'
import { login } from '../api/sign-in.ts'
import { useFocused } from '../ui/inputs/focused.ts'

/** The login form. `known` is the required member, if there is one. */
export function SignInForm({ known }: { known?: { email: string; tenant: string } }) {
  const [email, setEmail] = useState(known?.email ?? '')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState<string | null>(null)
  const [tenants, setTenants] = useState<readonly Choice[]>([])
  const [tenant, setTenant] = useState<string | null>(known?.tenant ?? null)
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
      await login({ email, password, ...(code && { code }), ...(tenant !== null && { tenant }) })
    } catch (refusal) {
      setIsBusy(false)
      if (isAbout(refusal, 'second_factor_required')) return setCode('')
      if (isAbout(refusal, 'tenant_required')) return setTenants(refusal.tenants)
      setError(loginWords(refusal))
      if (!isAbout(refusal, 'invalid_second_factor')) passwordRef.current?.focus()
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
        {code !== null && <CodeInput value={code} onChange={setCode} />}
        {tenants.length > 0 && <TenantChoice tenants={tenants} value={tenant} onChange={setTenant} />}
        <Button type="submit" loading={isBusy} disabled={tenants.length > 0 && tenant === null}>
          Sign in
        </Button>
      </Stack>
    </form>
  )
}

function TenantChoice({
  tenants,
  value,
  onChange,
}: {
  tenants: readonly Choice[]
  value: string | null
  onChange: (tenant: string | null) => void
}) {
  return (
    <NativeSelect
      label="Tenant"
      description="You are a member of several"
      required
      ref={useFocused<HTMLSelectElement>()}
      data={[{ value: '', label: 'Choose one' }, ...tenants.map(({ slug, name }) => ({ value: slug, label: name }))]}
      value={value ?? ''}
      onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? null : currentTarget.value)}
    />
  )
}

/** The code of the second factor. */
export function CodeInput({ value, onChange }: { value: string; onChange: (code: string) => void }) {
  return (
    <TextInput
      label="Code"
      description="That of your app, or a recovery code"
      autoComplete="one-time-code"
      required
      ref={useFocused()}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}

export const isAbout = (error: unknown, code: string): error is ApiError =>
  error instanceof ApiError && error.code === code

export function loginWords(error: unknown): string {
  if (!(error instanceof ApiError)) return wordsOf(error)
  if (error.code === 'invalid_admin_token') return 'The e-mail address or the password is wrong.'
  if (error.code === 'invalid_second_factor')
    return 'This code is wrong, or was used already. Wait for the next one of your app.'
  if (error.code !== 'rate_limited') return wordsOf(error)
  const wait = error.retryAfterSeconds === null ? 'in a while' : `in ${error.retryAfterSeconds} s`
  return `Too many attempts. Try again ${wait}.`
}
