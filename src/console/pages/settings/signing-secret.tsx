import { Button, Code, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Countdown } from '../../ui/countdown.tsx'
import { EndSecret, isLive, type Secret } from '../../ui/end-secret.tsx'
import { SecretOnce } from '../../ui/secret.tsx'

interface Made {
  secret: string | null
  standardSecret: string | null
}

/** A secret that signs requests to a service of the tenant: created here, shown once. */
export function SigningSecret({
  nodes,
  about,
  service,
  onCreate,
  onEnd,
}: {
  /** The tenant's, newest first; undefined while they load. */
  nodes: readonly Secret[] | undefined
  /** What is signed. */
  about: string
  /** What gets the requests, such as `classifier`. */
  service: string
  /** Returns the new secret. */
  onCreate: () => Promise<Made>
  onEnd: (kid: string) => Promise<unknown>
}) {
  const valid = (nodes ?? []).filter(isLive)
  const [isAsking, setAsking] = useState(false)
  const [made, setMade] = useState<Made | null>(null)
  return (
    <Stack gap={4} align="flex-start">
      <Text size="sm">{about}</Text>
      {valid.map(({ kid, expiresAt }) => (
        <Text key={kid} size="sm" component="div">
          <Code>{kid}</Code>
          {expiresAt !== null && (
            <>
              , expires <Countdown until={expiresAt} />
            </>
          )}{' '}
          <EndSecret
            kid={kid}
            secrets={valid}
            replace="create a secret"
            stops={`No request to the ${service} is signed`}
            onEnd={() => onEnd(kid)}
          >
            It signs no further request, at once. This is final.
          </EndSecret>
        </Text>
      ))}
      <Button variant="default" onClick={() => setAsking(true)}>
        Create a secret
      </Button>
      {isAsking && (
        <Confirm
          title={`Create a secret for the ${service}?`}
          action="Create"
          onConfirm={async () => setMade(await onCreate())}
          onClose={() => setAsking(false)}
        >
          The previous secret also signs for 24 hours, and then expires.
        </Confirm>
      )}
      {made !== null && !isAsking && (
        <SecretOnce
          title={`The ${service}'s new secret`}
          secret={made.secret}
          standardSecret={made.standardSecret}
          warning={`This is the only time that the secret is shown. Put it where your ${service} reads its secrets, now.`}
          onClose={() => setMade(null)}
        />
      )}
    </Stack>
  )
}
