import { Button, Code, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import { renderSVG } from 'uqr'

import {
  BeginTotpDocument,
  type BeginTotpMutation,
  ConfirmTotpDocument,
  MeDocument,
  RemoveTotpDocument,
} from '../../../generated/console.ts'
import { useRefresh, useWrite } from '../../api/queries.ts'
import { send } from '../../api/request.ts'
import { signedOut } from '../../api/session.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { SecretOnce } from '../../ui/secret.tsx'
import { Problem } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { refusedAt } from './refused.ts'

type Begun = NonNullable<BeginTotpMutation['beginTotp']>

export function SecondFactor({ isOn }: { isOn: boolean }) {
  const begin = useWrite(BeginTotpDocument, [])
  const remove = useWrite(RemoveTotpDocument, [])
  const [begun, setBegun] = useState<Begun | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const [isRemoving, setRemoving] = useState(false)
  const refresh = useRefresh([MeDocument])
  const set = (): void =>
    void begin
      .mutateAsync({})
      .then(({ beginTotp }) => setBegun(beginTotp ?? null))
      .catch(() => undefined)
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="second-factor">
      <Stack gap="sm" align="flex-start">
        <Title order={2} size="h4" id="second-factor">
          Second factor
        </Title>
        <Text size="sm">
          {isOn
            ? 'Signing in takes a code of your app beside the password.'
            : 'An app on your phone shows codes. With it, a password that somebody has learned opens nothing.'}
        </Text>
        {begin.error !== null && <Problem error={begin.error} />}
        {isOn ? (
          <Button variant="default" onClick={() => setRemoving(true)}>
            Remove the second factor
          </Button>
        ) : (
          <Button onClick={set} loading={begin.isPending}>
            Set up an app
          </Button>
        )}
      </Stack>
      {begun !== null && (
        <SetUp
          {...begun}
          onClose={() => setBegun(null)}
          onDone={(made) => {
            setBegun(null)
            setCodes(made)
          }}
        />
      )}
      {codes !== null && (
        <SecretOnce
          title="Your recovery codes"
          secret={codes.join('\n')}
          warning="Each of them signs in once without the app, for the day when your phone is lost. They are shown only now: keep them in a safe place."
          onClose={() => {
            setCodes(null)
            void refresh()
          }}
        />
      )}
      {isRemoving && (
        <Confirm
          title="Remove the second factor?"
          action="Remove"
          onConfirm={() => remove.mutateAsync({}).then(signedOut)}
          onClose={() => setRemoving(false)}
        >
          Your password alone signs in then. All your sign-ins end, this one included.
        </Confirm>
      )}
    </Paper>
  )
}

const LABELS = { code: 'Code' }

function SetUp({
  secret,
  otpauthUrl,
  onDone,
  onClose,
}: Begun & { onDone: (codes: readonly string[]) => void; onClose: () => void }) {
  const form = useForm({ initialValues: { code: '' } })
  const confirm = async (input: typeof form.values): Promise<void> => {
    const message = 'is not the one that the app shows now'
    const { confirmTotp } = await refusedAt({ code: 'invalid_second_factor', field: 'code', message }, () =>
      send(ConfirmTotpDocument, { input }),
    )
    onDone(confirmTotp?.recoveryCodes ?? [])
  }
  return (
    <Dialog title="Set up an app" onClose={onClose}>
      <Stack>
        <Text size="sm">Scan this with the app, or type the text into it. Then enter the code that it shows.</Text>
        <QrCode text={otpauthUrl ?? ''} />
        <Code block {...WRITTEN} aria-label="The secret">
          {secret}
        </Code>
        <Form form={form} labels={LABELS} send={confirm} action="Confirm" onCancel={onClose}>
          <TextInput
            label={LABELS.code}
            autoComplete="one-time-code"
            inputMode="numeric"
            required
            data-autofocus
            {...form.getInputProps('code')}
          />
        </Form>
      </Stack>
    </Dialog>
  )
}

/** Black on white in both themes: not every app reads it inverted. */
const QrCode = ({ text }: { text: string }) => (
  <img
    src={`data:image/svg+xml,${encodeURIComponent(renderSVG(text))}`}
    width={220}
    height={220}
    alt="QR code of the secret"
  />
)
