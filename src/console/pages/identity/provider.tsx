import { Alert, Anchor, Code, Stack, Text } from '@mantine/core'
import { Link } from 'react-router'

import { IdentityProviderDocument, type IdentityProviderQuery } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { Countdown } from '../../ui/countdown.tsx'
import { Answered } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

/** Whether assertions of an identity provider are accepted, by its public keys. */
export function Provider() {
  const query = useApi(IdentityProviderDocument, {}, { everyMs: 10_000 })
  const change = (
    <Anchor component={Link} to="/settings" inherit underline="always">
      Settings
    </Anchor>
  )
  return (
    <Answered query={query} of="the identity provider">
      {({ settings, identityKeySet }) =>
        settings?.identity.jwksUrl == null ? (
          <Text size="sm">
            None is set. With the address of your identity provider's keys in the {change}, assertions that it signs
            (RS256, ES256, EdDSA) are taken as well.
          </Text>
        ) : (
          <Stack gap="sm">
            <Text size="sm" {...WRITTEN}>
              Assertions of <Code>{settings.identity.issuer}</Code> are checked with the keys at{' '}
              <Code>{settings.identity.jwksUrl}</Code>. Both are in the {change}.
            </Text>
            {identityKeySet != null && <KeySetState keySet={identityKeySet} />}
          </Stack>
        )
      }
    </Answered>
  )
}

type KeySet = NonNullable<IdentityProviderQuery['identityKeySet']>

/** Whether the provider's assertions are accepted now, and the reason if not. */
function KeySetState({ keySet }: { keySet: KeySet }) {
  const { state, keyCount, fetchedAt, failingSince, expiresAt, error } = keySet
  if (state === 'dropped' || (state === 'failing' && fetchedAt === null)) {
    return (
      <Alert color="red" title={`Its assertions are refused: the keys cannot be fetched (${error ?? 'no answer'})`}>
        <Text size="sm">
          {fetchedAt === null ? (
            'The keys were never fetched.'
          ) : (
            <>
              They were last fetched <Time at={fetchedAt} />, more than 24 hours ago.
            </>
          )}{' '}
          {failingSince !== null && (
            <>
              Fetching has failed since <Time at={failingSince} />.{' '}
            </>
          )}
          A worker tries again every 30 seconds, and takes assertions again once it succeeds.
        </Text>
      </Alert>
    )
  }
  if (state === 'failing' && expiresAt !== null) {
    return (
      <Alert color="yellow" title={`The keys cannot be fetched: ${error ?? 'no answer'}`}>
        <Text size="sm">
          Fetching has failed since <Time at={failingSince ?? expiresAt} />. The {keyCount} keys fetched before that are
          used until they expire <Countdown until={expiresAt} />; after that its assertions are refused.
        </Text>
      </Alert>
    )
  }
  if (fetchedAt === null) return <Text size="sm">The keys have not been fetched yet.</Text>
  return (
    <Text size="sm">
      {keyCount === 1 ? '1 key' : `${keyCount} keys`}, fetched <Time at={fetchedAt} />.
    </Text>
  )
}
