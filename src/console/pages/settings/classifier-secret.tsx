import { Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import { CreateClassifierSecretDocument, SettingsDocument } from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { SecretOnce } from '../../ui/secret.tsx'

/** The secret that signs requests to the classifier: created here, shown once. */
export function ClassifierSecret() {
  const create = useWrite(CreateClassifierSecretDocument, [SettingsDocument])
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
