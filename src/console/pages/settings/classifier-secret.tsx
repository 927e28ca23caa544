import { Button, Code, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import {
  ClassifierSecretsDocument,
  CreateClassifierSecretDocument,
  RevokeClassifierSecretDocument,
  SettingsDocument,
} from '../../../generated/console.ts'
import { useList, useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Countdown } from '../../ui/countdown.tsx'
import { EndSecret } from '../../ui/end-secret.tsx'
import { SecretOnce } from '../../ui/secret.tsx'
import { isPast } from '../../ui/time.tsx'

/** The secret that signs requests to the classifier: created here, shown once. */
export function ClassifierSecret() {
  const create = useWrite(CreateClassifierSecretDocument, [SettingsDocument, ClassifierSecretsDocument])
  const revoke = useWrite(RevokeClassifierSecretDocument, [ClassifierSecretsDocument])
  const list = useList(ClassifierSecretsDocument, { first: 10 }, ({ classifierSecrets }) => classifierSecrets)
  const valid = (list.nodes ?? []).filter(({ expiresAt }) => expiresAt === null || !isPast(expiresAt))
  const [isAsking, setAsking] = useState(false)
  const [made, setMade] = useState<string | null>(null)
  const run = async (): Promise<void> => {
    const { createClassifierSecret } = await create.mutateAsync({})
    setMade(createClassifierSecret.secret)
  }
  return (
    <Stack gap={4} align="flex-start">
      <Text size="sm">
        Requests to the classifier are signed with this secret, so that it can verify them. Without a secret no request
        is sent.
      </Text>
      {valid.map(({ kid, expiresAt }) => (
        <Text key={kid} size="sm" component="div">
          <Code>{kid}</Code>
          {expiresAt !== null && (
            <>
              , expires <Countdown until={expiresAt} />
            </>
          )}
          <EndSecret kid={kid} onEnd={() => revoke.mutateAsync({ input: { kid } })}>
            It signs no further request, at once. This is final.
            {valid.length === 1 && ' It is the only one: the classifier is not asked until there is another.'}
          </EndSecret>
        </Text>
      ))}
      <Button variant="default" onClick={() => setAsking(true)}>
        Create a secret
      </Button>
      {isAsking && (
        <Confirm
          title="Create a secret for the classifier?"
          action="Create"
          onConfirm={run}
          onClose={() => setAsking(false)}
        >
          The previous secret also signs for 24 hours, and then expires.
        </Confirm>
      )}
      {made !== null && !isAsking && (
        <SecretOnce
          title="The classifier's new secret"
          secret={made}
          warning="This is the only time that the secret is shown. Put it where your classifier reads its secrets, now."
          onClose={() => setMade(null)}
        />
      )}
    </Stack>
  )
}
