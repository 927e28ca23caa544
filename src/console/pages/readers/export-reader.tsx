import { Button } from '@mantine/core'
import { IconDownload } from '../../ui/icons.tsx'
import { useState } from 'react'

import { ReaderExportDocument } from '../../../generated/console.ts'
import { request } from '../../api/request.ts'
import { Problem } from '../../ui/states.tsx'

/** Has the browser keep a text as a file. */
function save(filename: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = Object.assign(document.createElement('a'), { href, download: filename })
  link.click()
  URL.revokeObjectURL(href)
}

/** All that is held of a reader, as a file. */
export function ExportReader({ readerId, externalId }: { readerId: string; externalId: string }) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const run = async (): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      const { readerExport } = await request(ReaderExportDocument, { id: readerId })
      save(`reader-${externalId.replaceAll(/[^\w.-]+/g, '_')}.json`, JSON.stringify(readerExport, null, 2))
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
