import { Anchor, Code, Text } from '@mantine/core'
import { Link } from 'react-router'

import { IdentityProviderDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { Answered } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'

/** Whether assertions of an identity provider are taken, by its public keys. */
export function Provider() {
  const query = useApi(IdentityProviderDocument, {})
  const change = (
    <Anchor component={Link} to="/settings" inherit underline="always">
      Settings
    </Anchor>
  )
  return (
    <Answered query={query} of="the identity provider">
      {({ settings }) =>
        settings?.identity.jwksUrl == null ? (
          <Text size="sm">
            None is set. With the address of your identity provider's keys in the {change}, assertions that it signs
            (RS256, ES256, EdDSA) are taken as well.
          </Text>
        ) : (
          <Text size="sm" {...WRITTEN}>
            Assertions of <Code>{settings.identity.issuer}</Code> are taken, by the keys at{' '}
            <Code>{settings.identity.jwksUrl}</Code>. Both are in the {change}.
          </Text>
        )
      }
    </Answered>
  )
}
