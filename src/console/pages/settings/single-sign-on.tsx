import {
  Button,
  Code,
  Group,
  NativeSelect,
  Paper,
  PasswordInput,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'

import {
  SettingsDocument,
  type SettingsQuery,
  type SignOnRole,
  UpdateSettingsDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { CALLBACK_URL } from '../../api/sign-on.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { roleChoices } from '../members/roles.ts'
import { SIGN_ON_LABELS } from './labels.ts'

type Oidc = NonNullable<SettingsQuery['settings']>['staff']['oidc']

/** In each line a value of the claim and its role: `comment-editors = editor`. */
const linesOf = (roles: unknown): string =>
  Object.entries((roles ?? {}) as Record<string, string>)
    .map(([value, role]) => `${value} = ${role}`)
    .join('\n')

function rolesOf(lines: string): Record<string, string> {
  const given = lines.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    given.map((line) => {
      const at = line.lastIndexOf('=')
      return at === -1 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

const formOf = (oidc: Oidc) => ({
  issuer: oidc?.issuer ?? '',
  clientId: oidc?.clientId ?? '',
  clientSecret: '',
  emailDomains: oidc?.emailDomains.join(', ') ?? '',
  roleClaim: oidc?.roleClaim ?? '',
  roles: linesOf(oidc?.roles),
  defaultRole: oidc?.defaultRole ?? '',
  only: oidc?.only ?? false,
})

const inputOf = ({ clientSecret, ...given }: ReturnType<typeof formOf>) => ({
  ...given,
  emailDomains: given.emailDomains
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((domain) => domain !== ''),
  roleClaim: given.roleClaim === '' ? null : given.roleClaim,
  roles: rolesOf(given.roles),
  defaultRole: given.defaultRole === '' ? null : (given.defaultRole as SignOnRole),
  ...(clientSecret !== '' && { clientSecret }),
})

/** The sign-on at the tenant's identity provider, which only owners set up. */
export function SingleSignOn({ oidc }: { oidc: Oidc }) {
  const update = useWrite(UpdateSettingsDocument, [SettingsDocument])
  const [isEnding, setEnding] = useState(false)
  const form = useForm({ initialValues: { staff: { oidc: formOf(oidc) } } })
  const save = async ({ staff }: typeof form.values): Promise<void> => {
    await update.mutateAsync({ input: { staff: { oidc: inputOf(staff.oidc) } } })
    form.setFieldValue('staff.oidc.clientSecret', '')
    notifications.show({
      message: 'Single sign-on is saved. Try it in a private window while you stay signed in here.',
    })
  }
  const end = async (): Promise<void> => {
    await update.mutateAsync({ input: { staff: { oidc: null } } })
    form.setValues({ staff: { oidc: formOf(null) } })
  }
  const field = (name: keyof typeof SIGN_ON_LABELS) => ({ label: SIGN_ON_LABELS[name], ...form.getInputProps(name) })
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="single-sign-on">
      <Stack gap="lg" maw={640}>
        <Title order={2} size="h4" id="single-sign-on" tabIndex={-1} style={{ scrollMarginTop: 72 }}>
          Single sign-on
        </Title>
        <Text size="sm">
          Members sign in at your identity provider (OpenID Connect). Make a client for a web application there, with{' '}
          <Code {...WRITTEN}>{CALLBACK_URL}</Code> as its redirect address.
        </Text>
        <Form form={form} labels={SIGN_ON_LABELS} send={save}>
          <TextInput {...field('staff.oidc.issuer')} type="url" required placeholder="https://login.example.com" />
          <TextInput {...field('staff.oidc.clientId')} required />
          <PasswordInput
            {...field('staff.oidc.clientSecret')}
            autoComplete="off"
            required={oidc === null}
            description={oidc === null ? 'It is never shown again' : 'Leave it empty to keep the present one'}
          />
          <TextInput {...field('staff.oidc.emailDomains')} required description="With commas between them" />
          <TextInput {...field('staff.oidc.roleClaim')} description="Such as groups, or realm_access.roles" />
          <Textarea
            {...field('staff.oidc.roles')}
            autosize
            minRows={2}
            description="A value of the claim and its role in each line: comment-editors = editor"
          />
          <NativeSelect
            {...field('staff.oidc.defaultRole')}
            data={[{ value: '', label: 'none: they cannot sign in' }, ...roleChoices(false)]}
          />
          <Switch
            {...form.getInputProps('staff.oidc.only', { type: 'checkbox' })}
            label={SIGN_ON_LABELS['staff.oidc.only']}
            description="Other members who are signed in with a password are signed out"
          />
          <Group>
            <Button type="submit" loading={update.isPending}>
              Save the single sign-on
            </Button>
            {oidc !== null && (
              <Button variant="default" onClick={() => setEnding(true)}>
                Turn it off
              </Button>
            )}
          </Group>
        </Form>
      </Stack>
      {isEnding && (
        <Confirm title="Turn off single sign-on?" action="Turn off" onConfirm={end} onClose={() => setEnding(false)}>
          Members who have signed in by it are signed out. Those without a password cannot come back.
        </Confirm>
      )}
    </Paper>
  )
}
