import { Button } from '@mantine/core'
import { IconDownload } from '../../ui/icons.tsx'
import { useState } from 'react'

import { ReaderExportDocument } from '../../../generated/console.ts'
import { request } from '../../api/request.ts'
import { saveFile } from '../../ui/inputs/save.ts'
import { Problem } from '../../ui/states.tsx'

/** Downloads all stored data of a reader. */
export function ExportReader({ readerId, externalId }: { readerId: string; externalId: string }) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const run = async (): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      const { readerExport } = await request(ReaderExportDocument, { id: readerId })
      const content = new Blob([JSON.stringify(readerExport, null, 2)], { type: 'application/json' })
      saveFile(`reader-${externalId.replaceAll(/[^\w.-]+/g, '_')}.json`, content)
    } catch (refusal) {
      setError(refusal)
    }
    setBusy(false)
  }
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconDownload size={16} aria-hidden />}
        loading={isBusy}
        onClick={() => void run()}
      >
        Export
      </Button>
      {error !== null && <Problem error={error} />}
    </>
  )
}
