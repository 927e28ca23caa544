import { Text } from '@mantine/core'

import { EraseReaderDocument, ErasureModeDocument, type ErasureMode } from '../../../generated/console.ts'
import { useApi, useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Answered } from '../../ui/states.tsx'

/** What happens to the comments, by the setting. */
const COMMENTS: Readonly<Record<ErasureMode, string>> = {
  anonymise: 'Their comments lose their text and their author; a mark stays where one has replies in view.',
  delete: 'Their comments are deleted; a mark stays where one has replies.',
}

export function EraseReader({
  readerId,
  externalId,
  onErased,
  onClose,
}: {
  readerId: string
  externalId: string
  onErased: () => void
  onClose: () => void
}) {
  const settings = useApi(ErasureModeDocument, {})
  const erase = useWrite(EraseReaderDocument)
  const confirmed = async (): Promise<void> => {
    await erase.mutateAsync({ input: { readerId } })
    onErased()
  }
  return (
    <Confirm
      title={`Erase ${externalId}?`}
      action="Erase for good"
      typed={externalId}
      onConfirm={confirmed}
      onClose={onClose}
    >
      <Answered query={settings} of="what an erasure does">
        {({ settings: inForce }) => (
          <>
            {inForce != null && <Text size="sm">{COMMENTS[inForce.erasureMode]}</Text>}
            <Text size="sm">
              Their profile, reactions and reports are deleted, and their data in events, deliveries and the audit log.
              It cannot be undone. Export anything you want to keep first.
            </Text>
          </>
        )}
      </Answered>
    </Confirm>
  )
}
