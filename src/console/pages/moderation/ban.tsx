import { Button, Stack } from '@mantine/core'
import { useEffect, useState } from 'react'

import {
  BanReaderDocument,
  QueuedReaderDocument,
  type QueuedReaderQuery,
  UnbanReaderDocument,
} from '../../../generated/console.ts'
import { useApi, useWrite } from '../../api/queries.ts'
import { Problem } from '../../ui/states.tsx'
import { isPast } from '../../ui/time.tsx'
import { BanReader } from '../bans/ban-reader.tsx'
import { BanState } from '../bans/ban.tsx'

type Ban = NonNullable<QueuedReaderQuery['reader']>['ban']

interface Banned {
  words: string
  /** Restores the reader's earlier ban or lack of one, and returns a message. */
  undo: () => Promise<string>
  /** Whether their pending comments are to be rejected, too. */
  isRejecting: boolean
}

/** Bans the author of a comment, or ends the ban; returns how to undo that. */
export function BanDialog({
  reader: { id, name },
  onDone,
  onClose,
}: {
  reader: { id: string; name: string }
  onDone: (done: Banned) => void
  onClose: () => void
}) {
  const { data, refetch, isFetchedAfterMount } = useApi(QueuedReaderDocument, { id })
  const ban = useWrite(BanReaderDocument, [QueuedReaderDocument])
  const unban = useWrite(UnbanReaderDocument, [QueuedReaderDocument])
  const [error, setError] = useState<unknown>(null)
  // The state when the dialog was opened. The queue's data may be old by then, and another
  // moderator's ban would be replaced unseen.
  const [before, setBefore] = useState<Ban | undefined>(undefined)
  useEffect(() => void refetch(), [refetch])
  const now = isFetchedAfterMount ? data?.reader?.ban : undefined
  if (before === undefined && now !== undefined) setBefore(now)
  const shown = (before === undefined ? data?.reader?.ban : before) ?? null

  const undo = async (): Promise<string> => {
    if (before === undefined) throw new Error(`It is not known what there was before: look at the page of ${name}.`)
    // A ban that has expired meanwhile is not restored.
    if (before === null || (before.until !== null && isPast(before.until))) {
      await unban.mutateAsync({ input: { readerId: id } })
      return `Undone: ${name} is not banned.`
    }
    const { until, reason, shadow } = before
    await ban.mutateAsync({ input: { readerId: id, until, reason, shadow } })
    return `Undone: ${name} is banned as before.`
  }
  const end = async (): Promise<void> => {
    try {
      await unban.mutateAsync({ input: { readerId: id } })
      onDone({ words: `Not banned any more: ${name}.`, undo, isRejecting: false })
    } catch (refusal) {
      setError(refusal)
    }
  }
  return (
    <BanReader
      // A new key starts the form over when the ban has changed; otherwise the input is kept.
      key={JSON.stringify(shown)}
      readerId={id}
      name={name}
      ban={shown}
      onBanned={(isRejecting) => onDone({ words: `Banned: ${name}.`, undo, isRejecting })}
      onClose={onClose}
    >
      {error !== null && <Problem error={error} />}
      {before != null && (
        <Stack gap="xs" align="flex-start">
          <BanState ban={before} />
          <Button variant="default" size="compact-sm" loading={unban.isPending} onClick={() => void end()}>
            End the ban
          </Button>
        </Stack>
      )}
    </BanReader>
  )
}
