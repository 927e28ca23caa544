import { Alert, Button, Group, TextInput } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'

import { wordsOf } from '../api/errors.ts'
import { welcome } from '../api/sign-in.ts'
import { startUrl } from '../api/sign-on.ts'
import { useFocused } from '../ui/inputs/focused.ts'

/** Why a sign-on was refused (docs/guides/single-sign-on.md). */
const REFUSALS: Readonly<Record<string, string>> = {
  unknown_tenant: 'There is no such tenant, or it has no single sign-on.',
  tenant_suspended: 'This tenant is suspended. Ask the operator of the service.',
  not_configured: 'The single sign-on of this tenant lacks its client secret. Ask an owner.',
  provider_failed: 'The identity provider did not confirm who you are. Try again.',
  expired: 'The sign-in took too long, or began in another browser. Try again.',
  no_email: 'The identity provider knows no verified e-mail address of yours.',
  wrong_domain: 'Your e-mail address is of no domain that this tenant admits.',
  no_role: 'The identity provider gives you no role here. Ask an owner.',
  other_person: 'Another person has signed in with this e-mail address. Ask an owner.',
  owner: 'Owners sign in with their password.',
  disabled: 'Your access was disabled. Ask an owner.',
  rate_limited: 'There were too many sign-ins from your network. Try again later.',
}

/**
 * Takes over a sign-on from which the service has led here. Returns why it was refused; null for
 * none, and for a page that was opened otherwise.
 */
async function takeSignOn(): Promise<string | null> {
  const [, outcome] = /^#sign-on=(\w+)$/.exec(location.hash) ?? []
  if (outcome === undefined) return null
  history.replaceState(history.state, '', location.pathname)
  if (outcome !== 'done')
    return Object.hasOwn(REFUSALS, outcome) ? (REFUSALS[outcome] ?? null) : 'The sign-on was refused.'
  await welcome()
  return null
}

/** The way to the identity provider of a tenant, and what has come of it. */
export function SignOn() {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Outcome />
      {isAsking ? (
        <AskTenant />
      ) : (
        <Button variant="default" fullWidth onClick={() => setAsking(true)}>
          Use your identity provider
        </Button>
      )}
    </>
  )
}

/** What has become of a sign-on that led back here. */
function Outcome() {
  const [refusal, setRefusal] = useState<string | null>(null)
  useEffect(() => {
    takeSignOn().then(
      (said) => said !== null && setRefusal(said),
      (error: unknown) => setRefusal(wordsOf(error)),
    )
  }, [])
  return (
    refusal !== null && (
      <Alert color="red" role="alert" mb="md">
        {refusal}
      </Alert>
    )
  )
}

function AskTenant() {
  const [tenant, setTenant] = useState('')
  const go = (event: FormEvent): void => {
    event.preventDefault()
    location.assign(startUrl(tenant.trim()))
  }
  return (
    <form onSubmit={go}>
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <TextInput
          label="Tenant"
          description="Its short name, as your colleagues told you"
          required
          flex={1}
          ref={useFocused()}
          value={tenant}
          onChange={({ currentTarget }) => setTenant(currentTarget.value)}
        />
        <Button type="submit">Go on</Button>
      </Group>
    </form>
  )
}
