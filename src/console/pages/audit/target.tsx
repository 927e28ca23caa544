import { Anchor, Text } from '@mantine/core'
import { Link } from 'react-router'

import { WRITTEN } from '../../ui/written.ts'

/** The page for each kind of target. A comment is only reachable through its discussion. */
const PAGES: Readonly<Record<string, (id: string) => string>> = {
  api_key: () => '/keys',
  classifier_secret: () => '/settings#classifier',
  discussion: (id) => `/discussions/${id}`,
  identity_secret: () => '/identity',
  reader: (id) => `/readers/${id}`,
  settings: () => '/settings',
  webhook_endpoint: (id) => `/webhooks/${id}`,
}

/** The target of an action, linked to its page if there is one. */
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
      {/* A tenant has only one set of settings. */}
      {id !== null && type !== 'settings' && (
        <Text size="xs" c="dimmed" ff="monospace" {...WRITTEN}>
          {id}
        </Text>
      )}
    </>
  )
}
