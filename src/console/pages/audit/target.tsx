import { Anchor, Text } from '@mantine/core'
import { Link } from 'react-router'

import { WRITTEN } from '../../ui/written.ts'

/** Where a thing of each kind is looked at. A comment is found through its discussion alone. */
const PAGES: Readonly<Record<string, (id: string) => string>> = {
  api_key: () => '/keys',
  classifier_secret: () => '/settings#classifier',
  discussion: (id) => `/discussions/${id}`,
  identity_secret: () => '/identity',
  reader: (id) => `/readers/${id}`,
  settings: () => '/settings',
  webhook_endpoint: (id) => `/webhooks/${id}`,
}

/** What something was done to, linked to its page where there is one. */
export function Target({ type, id }: { type: string; id: string | null }) {
  const page = id === null ? undefined : PAGES[type]?.(id)
  return (
    <>
      {page === undefined ? (
        <Text size="sm">{type}</Text>
      ) : (
        <Anchor component={Link} to={page} size="sm">
          {type}
        </Anchor>
      )}
      {/* There is one of a tenant's settings. */}
      {id !== null && type !== 'settings' && (
        <Text size="xs" c="dimmed" ff="monospace" {...WRITTEN}>
          {id}
        </Text>
      )}
    </>
  )
}
