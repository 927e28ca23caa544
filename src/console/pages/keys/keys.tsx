import { Badge, Button, Code, Group, Stack, Table, Text, TextInput, VisuallyHidden } from '@mantine/core'
import { IconPlus } from '../../ui/icons.tsx'
import { useState } from 'react'

import {
  ApiKeysDocument,
  type ApiKeysQuery,
  BackendCheckDocument,
  RevokeApiKeyDocument,
} from '../../../generated/console.ts'
import { useWholeList, useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { useFilter } from '../../ui/inputs/filters.ts'
import { matches } from '../../ui/inputs/matches.ts'
import { Search } from '../../ui/inputs/search.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Section, useSectionOfHash } from '../../ui/section.tsx'
import { SecretOnce } from '../../ui/secret.tsx'
import { Empty } from '../../ui/states.tsx'
import { isPast, Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { CreateKey } from './create-key.tsx'
import { request } from '../../api/request.ts'
import { useTestForm } from '../../ui/findings.tsx'

type ApiKey = ApiKeysQuery['apiKeys']['nodes'][number]

export function Page() {
  const [search, setSearch] = useFilter('search')
  const list = useWholeList(ApiKeysDocument, { first: 100 }, ({ apiKeys }) => apiKeys, {
    everyMs: 5_000,
    // Revoked keys stay in the list, so that it may be long.
    isWhole: search !== null,
    arrange: (keys) => keys.filter(({ label, prefix }) => matches(search, label, prefix)),
  })
  const [isCreating, setCreating] = useState(false)
  const [created, setCreated] = useState<string | null>(null)
  const [toRevoke, setToRevoke] = useState<ApiKey | null>(null)
  const revoke = useWrite(RevokeApiKeyDocument, [ApiKeysDocument])
  useSectionOfHash(list.nodes !== undefined)
  const createButton = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      Create a key
    </Button>
  )
  return (
    <PageFrame
      title="API keys"
      about="The keys that your backend calls the service with. Never put a key into a browser."
      actions={createButton}
    >
      <Search label="Label or beginning of the key" value={search} onChange={setSearch} />
      <List
        list={list}
        of="API keys"
        empty={
          search === null ? (
            <Empty title="There is no key yet">Create one for your backend.</Empty>
          ) : (
            <Empty title="No key was found">Its label must have all the words. Try fewer.</Empty>
          )
        }
      >
        {(keys) => (
          <DataTable
            label="API keys"
            head={[
              'Label',
              'Key',
              'Capabilities',
              'Created',
              'Last used',
              'Expires',
              <VisuallyHidden key="actions">Actions</VisuallyHidden>,
            ]}
          >
            {keys.map((key) => (
              <KeyRow key={key.id} apiKey={key} onRevoke={() => setToRevoke(key)} />
            ))}
          </DataTable>
        )}
      </List>
      <Section title="Test your backend" id="backend">
        <BackendCheck />
      </Section>
      {isCreating && (
        <CreateKey
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setCreating(false)
            setCreated(key)
          }}
        />
      )}
      {created !== null && (
        <SecretOnce
          title="Your new key"
          secret={created}
          warning="This is the only time that the key is shown. Put it where your backend reads its secrets, now."
          onClose={() => setCreated(null)}
        />
      )}
      {toRevoke !== null && (
        <Confirm
          title={`Revoke ${toRevoke.label}?`}
          action="Revoke"
          onConfirm={() => revoke.mutateAsync({ input: { id: toRevoke.id } })}
          onClose={() => setToRevoke(null)}
        >
          Requests with this key are refused within a second. This is final.
        </Confirm>
      )}
    </PageFrame>
  )
}

function KeyRow({ apiKey: key, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }) {
  const isOver = key.revokedAt !== null || (key.expiresAt !== null && isPast(key.expiresAt))
  return (
    <Table.Tr>
      <Table.Td miw={120} {...WRITTEN}>
        {key.label}
      </Table.Td>
      <Table.Td>
        <Code>{key.prefix}…</Code>
      </Table.Td>
      <Table.Td>
        <Group gap={4}>
          {key.capabilities.map((capability) => (
            <Badge key={capability}>{capability}</Badge>
          ))}
          {key.capabilities.length === 0 && 'read, post and react'}
        </Group>
      </Table.Td>
      <Table.Td>
        <Time at={key.createdAt} />
      </Table.Td>
      <Table.Td>{key.lastUsedAt === null ? 'never' : <Time at={key.lastUsedAt} />}</Table.Td>
      <Table.Td>{key.expiresAt === null ? 'never' : <Time at={key.expiresAt} />}</Table.Td>
      <Table.Td ta="end" className="row-action">
        {key.revokedAt !== null ? (
          <Badge>revoked</Badge>
        ) : isOver ? (
          <Badge>expired</Badge>
        ) : (
          <Button variant="default" size="compact-sm" onClick={onRevoke} aria-label={`Revoke ${key.label}`}>
            Revoke
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

/** Has the service ask the backend of the pages, and says what it answered. */
function BackendCheck() {
  const [url, setUrl] = useState('')
  const { onSubmit, isBusy, outcome } = useTestForm(async () => {
    const { backendCheck } = await request(BackendCheckDocument, { url: url.trim() })
    return [{ isGood: backendCheck.answers, text: backendCheck.finding }]
  })
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="xs" maw={640}>
        <Text size="sm">The service asks the backend of your pages as the widget does, and says what it answers.</Text>
        <Group align="flex-end" gap="xs">
          <TextInput
            label="Address of the backend"
            placeholder="https://www.example.com/engagement"
            value={url}
            onChange={({ currentTarget }) => setUrl(currentTarget.value)}
            flex="1 1 240px"
          />
          <Button type="submit" variant="default" loading={isBusy} disabled={url.trim() === ''}>
            Test
          </Button>
        </Group>
        {outcome}
      </Stack>
    </form>
  )
}
