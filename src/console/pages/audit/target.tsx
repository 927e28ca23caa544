import { Anchor, Text } from '@mantine/core'
import { Link } from 'react-router'

import { Breakable } from '../../ui/breakable.tsx'
import { WRITTEN } from '../../ui/written.ts'
import type { NamedTarget } from './targets.ts'
import { kindWords } from './words.ts'

/** The page for each kind of target. */
const PAGES: Readonly<Record<string, (id: string) => string>> = {
  api_key: () => '/keys',
  backend: () => '/keys#backend',
  classifier_secret: () => '/settings#classifier',
  discussion: (id) => `/discussions/${id}`,
  document: () => '/settings#website',
  export: () => '/settings#export',
  identity_secret: () => '/identity',
  import: () => '/settings#import',
  import_upload: () => '/settings#import',
  mail_secret: () => '/settings#guests',
  member: () => '/members',
  notice_channel: () => '/settings#notices',
  reader: (id) => `/readers/${id}`,
  settings: () => '/settings',
  site: (id) => `/sites/${id}`,
  webhook_endpoint: (id) => `/webhooks/${id}`,
}

/** The target of an action, by its name of today and its id, linked to its page if there is one. */
export function Target({ type, id, target }: { type: string; id: string | null; target: NamedTarget | undefined }) {
  // A comment is reached through its discussion.
  const discussion = target?.discussionId == null ? undefined : PAGES.discussion?.(target.discussionId)
  const page = id === null ? undefined : (PAGES[type]?.(id) ?? discussion)
  return (
    <>
      {page === undefined ? (
        <Text size="sm">{kindWords(type)}</Text>
      ) : (
        <Anchor component={Link} to={page} size="sm" underline="always">
          {kindWords(type)}
        </Anchor>
      )}
      {target?.name != null && (
        <Text size="sm" lineClamp={2} {...WRITTEN}>
          <Breakable text={target.name} />
        </Text>
      )}
      {/* A tenant has only one set of settings. */}
      {id !== null && type !== 'settings' && (target?.name == null ? <Id id={id} /> : <FoldedId id={id} />)}
    </>
  )
}

function Id({ id }: { id: string }) {
  return (
    <Text size="xs" c="dimmed" ff="monospace" {...WRITTEN}>
      {id}
    </Text>
  )
}

/** What has a name shows its id on request. */
function FoldedId({ id }: { id: string }) {
  return (
    <details>
      <Text component="summary" size="xs" c="dimmed" style={{ cursor: 'pointer' }}>
        Id
      </Text>
      <Id id={id} />
    </details>
  )
}
