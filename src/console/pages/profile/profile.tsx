import { Button, PasswordInput, Paper, Stack, Text, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'

import {
  ChangePasswordDocument,
  LogoutEverywhereDocument,
  MeDocument,
  type MeQuery,
} from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { request, send } from '../../api/request.ts'
import { signedOut } from '../../api/session.ts'
import { welcome } from '../../api/sign-in.ts'
import { Form } from '../../ui/inputs/form.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Answered } from '../../ui/states.tsx'
import { refusedAt } from './refused.ts'
import { SecondFactor } from './second-factor.tsx'

export function Page() {
  const query = useApi(MeDocument, {})
  return (
    <PageFrame title="Your account" about="How you sign in. It counts in all your tenants.">
      <Answered query={query} of="your account">
        {({ me }) => me != null && <Account {...me} />}
      </Answered>
    </PageFrame>
  )
}

function Account({ member, tenant, signedOn }: NonNullable<MeQuery['me']>) {
  return (
    <Stack maw={640}>
      <Text>
        {member.name ?? member.email}, {member.role} of {tenant.slug}
      </Text>
      {signedOn ? (
        <Text size="sm">You have signed in at the identity provider of the tenant, which keeps how you do it.</Text>
      ) : (
        <>
          <Password />
          <SecondFactor isOn={member.twoFactor} />
        </>
      )}
      <Paper withBorder p="md" component="section" aria-labelledby="everywhere">
        <Stack gap="sm" align="flex-start">
          <Title order={2} size="h4" id="everywhere">
            Other devices
          </Title>
          <Text size="sm">Ends all your sign-ins, this one included.</Text>
          <Button
            variant="default"
            onClick={() => void request(LogoutEverywhereDocument, {}).then(signedOut, () => undefined)}
          >
            Sign out everywhere
          </Button>
        </Stack>
      </Paper>
    </Stack>
  )
}

const LABELS = { current: 'Present password', new: 'New password' }

function Password() {
  const form = useForm({ initialValues: { current: '', new: '' } })
  const change = async (input: typeof form.values): Promise<void> => {
    await refusedAt({ code: 'invalid_admin_token', field: 'current', message: 'is wrong' }, () =>
      send(ChangePasswordDocument, { input }),
    )
    await welcome()
    form.reset()
    notifications.show({ message: 'Your password is changed. Your other sign-ins have ended.' })
  }
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="password">
      <Stack gap="sm">
        <Title order={2} size="h4" id="password">
          Password
        </Title>
        <Form form={form} labels={LABELS} send={change}>
          <PasswordInput
            label={LABELS.current}
            autoComplete="current-password"
            required
            {...form.getInputProps('current')}
          />
          <PasswordInput
            label={LABELS.new}
            description="At least 8 characters"
            autoComplete="new-password"
            required
            {...form.getInputProps('new')}
          />
          <Button type="submit" style={{ alignSelf: 'flex-start' }}>
            Change the password
          </Button>
        </Form>
      </Stack>
    </Paper>
  )
}
