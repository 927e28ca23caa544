import { Badge, Button, Code, Stack, Table, Text, VisuallyHidden } from '@mantine/core'
import { IconRefresh } from '../../ui/icons.tsx'
import { useState } from 'react'

import {
  CreateIdentitySecretDocument,
  IdentitySecretsDocument,
  MeDocument,
  RevokeIdentitySecretDocument,
} from '../../../generated/console.ts'
import { useApi, useList, useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Countdown } from '../../ui/countdown.tsx'
import { EndSecret, isLive, lastOf, type Secret } from '../../ui/end-secret.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Section } from '../../ui/section.tsx'
import { SecretOnce } from '../../ui/secret.tsx'
import { Answered, Empty } from '../../ui/states.tsx'
import { isPast, Time } from '../../ui/time.tsx'
import { Provider } from './provider.tsx'
import { Snippets } from '../../ui/snippets.tsx'
import go from './snippets/sign.go?raw'
// Its text, which is no module's.
// oxlint-disable-next-line import/default
import node from './snippets/sign.mjs?raw'
import php from './snippets/sign.php?raw'
import python from './snippets/sign.py?raw'

export function Page() {
  const list = useList(IdentitySecretsDocument, { first: 50 }, ({ identitySecrets }) => identitySecrets)
  const create = useWrite(CreateIdentitySecretDocument, [IdentitySecretsDocument])
  const [isAsking, setAsking] = useState(false)
  const [made, setMade] = useState<{ kid: string; secret: string | null } | null>(null)
  const current = list.nodes?.find(({ expiresAt }) => expiresAt === null)
  const expiring = lastOf(list.nodes ?? [])
  const action = current === undefined ? 'Create a secret' : 'Rotate the secret'
  return (
    <PageFrame
      title="Identity"
      about="Your backend signs a short-lived assertion for each reader who is signed in on your site."
      actions={
        <Button
          leftSection={<IconRefresh size={16} aria-hidden />}
          disabled={list.nodes === undefined}
          onClick={() => setAsking(true)}
        >
          {action}
        </Button>
      }
    >
      <Stack gap="xl">
        <List
          list={list}
          of="identity secrets"
          empty={<Empty title="There is no secret yet">Create one for your backend.</Empty>}
        >
          {(secrets) => (
            <DataTable
              label="Identity secrets"
              head={['Key id (kid)', 'Created', 'Valid', <VisuallyHidden key="actions">Actions</VisuallyHidden>]}
              minWidth={360}
            >
              {secrets.map((secret) => (
                <SecretRow key={secret.kid} secret={secret} secrets={secrets} replace={action.toLowerCase()} />
              ))}
            </DataTable>
          )}
        </List>
        <Section title="Public keys instead of a secret">
          <Provider />
        </Section>
        <Section title="Sign an assertion">
          {current !== undefined ? (
            <SignSnippet kid={current.kid} />
          ) : expiring === undefined ? (
            <Text size="sm">Once there is a secret, the code to sign with it is here.</Text>
          ) : (
            <Text size="sm">
              Create a secret: the one there, {expiring.kid}, expires <Countdown until={expiring.expiresAt} />. Then the
              code to sign with the new one is here.
            </Text>
          )}
        </Section>
      </Stack>
      {isAsking && (
        <Confirm
          title={`${action}?`}
          action={action}
          color="indigo"
          onConfirm={async () => setMade((await create.mutateAsync({})).createIdentitySecret)}
          onClose={() => setAsking(false)}
        >
          {current === undefined
            ? 'Anyone who has it can speak for any of your readers.'
            : `Assertions signed with ${current.kid} are taken for 24 hours more, and then no longer: until then your backend has to have the new secret and its kid.`}
        </Confirm>
      )}
      {made !== null && (
        <SecretOnce
          title={`The new secret, ${made.kid}`}
          secret={made.secret}
          warning="This is the only time that it is shown. Anyone who has it can speak for any of your readers: put it where your backend reads its secrets, with its kid."
          onClose={() => setMade(null)}
        />
      )}
    </PageFrame>
  )
}

interface IdentitySecret extends Secret {
  createdAt: string
}

function SecretRow({
  secret,
  secrets,
  replace,
}: {
  secret: IdentitySecret
  secrets: readonly IdentitySecret[]
  /** What makes another one. */
  replace: string
}) {
  const { kid, createdAt, expiresAt } = secret
  const revoke = useWrite(RevokeIdentitySecretDocument, [IdentitySecretsDocument])
  return (
    <Table.Tr>
      <Table.Td>
        <Code>{kid}</Code>
      </Table.Td>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
      <Table.Td>
        {expiresAt === null ? (
          <Badge>until it is rotated</Badge>
        ) : isPast(expiresAt) ? (
          <Badge>expired</Badge>
        ) : (
          <>
            expires <Countdown until={expiresAt} />
          </>
        )}
      </Table.Td>
      <Table.Td>
        {isLive(secret) && (
          <EndSecret
            kid={kid}
            secrets={secrets}
            replace={replace}
            stops="No reader is identified"
            onEnd={() => revoke.mutateAsync({ input: { kid } })}
          >
            Assertions signed with it are refused within a second. This is final.
          </EndSecret>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

const SNIPPETS = { Node: node, Python: python, PHP: php, Go: go }

/**
 * The code that a backend needs to vouch for a reader. It contains the tenant and the kid; the
 * secret is read at run time.
 */
function SignSnippet({ kid }: { kid: string }) {
  const query = useApi(MeDocument, {})
  const fill = (text: string, tenant: string): string => text.replaceAll('{tenant}', tenant).replaceAll('{kid}', kid)
  return (
    <Answered query={query} of="the tenant's name">
      {({ me }) => (
        <>
          <Text size="sm" c="dimmed">
            For your backend alone. It reads the secret from the environment, as <Code>ENGAGEMENT_IDENTITY_SECRET</Code>
            ; change the kid with it.
          </Text>
          <Snippets
            label="Signing an assertion"
            snippets={Object.fromEntries(
              Object.entries(SNIPPETS).map(([language, text]) => [language, fill(text, me?.tenant.slug ?? '')]),
            )}
          />
        </>
      )}
    </Answered>
  )
}
