import { Anchor, Text } from '@mantine/core'

import type { AuditLogQuery } from '../../../generated/console.ts'
import { Breakable } from '../../ui/breakable.tsx'
import { WRITTEN } from '../../ui/written.ts'

type AuditActor = AuditLogQuery['auditLog']['nodes'][number]['actor']

const KINDS = { admin: 'Admin', key: 'API key', system: 'The service' } as const

/** The actor of an entry; a click filters the list by that actor. */
export function Actor({ actor, onOnly }: { actor: AuditActor; onOnly: (actor: string) => void }) {
  // A deleted key or admin has no name.
  const name = actor.email ?? actor.label ?? actor.actorId?.slice(-8) ?? KINDS[actor.kind]
  return (
    <>
      <Anchor
        component="button"
        type="button"
        size="sm"
        ta="start"
        {...WRITTEN}
        aria-label={`Only what ${name} did`}
        onClick={() => onOnly(actor.actorId ?? actor.kind)}
      >
        <Breakable text={name} />
      </Anchor>
      {actor.kind !== 'system' && (
        <Text size="xs" c="dimmed">
          {KINDS[actor.kind]}
        </Text>
      )}
    </>
  )
}
