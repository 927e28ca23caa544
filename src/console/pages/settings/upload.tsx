import { Button, FileInput, Group, Progress, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import {
  CreateImportUploadDocument,
  DeleteImportUploadDocument,
  ImportsDocument,
  ImportUploadsDocument,
  RunImportUploadDocument,
} from '../../../generated/console.ts'
import { useApi, useRefresh, useWrite } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { formatNumber } from '../../ui/numbers.ts'
import { Problem } from '../../ui/states.tsx'
import { ImportItems } from './import-items.tsx'
import { ImportOptions, inputOf, NO_OPTIONS, type Options } from './import-options.tsx'
import { sendFile, sourceOf, type UploadedFile } from './send-file.ts'

const POLL_MS = 2_000

const SYSTEMS = [
  { value: 'disqus', label: 'Disqus' },
  { value: 'wordpress', label: 'WordPress' },
  { value: 'coral', label: 'Coral (an archive of tar)' },
  { value: 'remark42', label: 'Remark42' },
  { value: 'commento', label: 'Commento' },
  { value: 'isso', label: 'Isso' },
  { value: 'artrans', label: 'Artalk' },
  { value: 'jsonl', label: 'JSON Lines' },
]

const ENDED = new Set(['imported', 'failed'])

/** The upload of a file: chosen here, rehearsed by a worker, and imported when somebody says so. */
export function Upload() {
  const { data } = useApi(ImportUploadsDocument, { first: 1 }, { everyMs: POLL_MS })
  const [last] = data?.uploads?.nodes ?? []
  return (
    <Stack maw={640}>
      {last !== undefined && <State upload={last} />}
      {(last === undefined || ENDED.has(last.state) || last.state === 'uploading') && (
        <Choose begun={last?.state === 'uploading' ? last : null} />
      )}
    </Stack>
  )
}

function Choose({ begun }: { begun: UploadedFile | null }) {
  const [file, setFile] = useState<File | null>(null)
  const [source, setSource] = useState<string | null>(null)
  const [options, setOptions] = useState(NO_OPTIONS)
  const [hasOptions, setHasOptions] = useState(false)
  const [sent, setSent] = useState<number | null>(null)
  const [error, setError] = useState<unknown>(null)
  const refresh = useRefresh([ImportUploadsDocument])
  const choose = async (chosen: File | null): Promise<void> => {
    setFile(chosen)
    if (chosen !== null) setSource(await sourceOf(chosen))
  }
  const send = async (chosen: File): Promise<void> => {
    setError(null)
    setSent(0)
    try {
      const upload = begun ?? (await create(chosen, source ?? '', options))
      await sendFile(chosen, upload, (parts) => setSent((100 * parts) / upload.parts))
      setFile(null)
      setOptions(NO_OPTIONS)
    } catch (refusal) {
      setError(refusal)
    }
    setSent(null)
    await refresh()
  }
  const isOther = begun !== null && file !== null && (file.name !== begun.fileName || file.size !== begun.bytes)
  return (
    <>
      <FileInput
        label={begun === null ? 'File' : `Choose ${begun.fileName} again to go on`}
        placeholder="Choose a file"
        value={file}
        onChange={(chosen) => void choose(chosen)}
        disabled={sent !== null}
        error={isOther && 'This is another file.'}
      />
      {begun === null && (
        <Select label="System" data={SYSTEMS} value={source} onChange={setSource} placeholder="Choose one" />
      )}
      {begun === null && hasOptions && <ImportOptions options={options} onChange={setOptions} />}
      {sent !== null && <Progress value={sent} aria-label="Uploaded" />}
      {error !== null && <Problem error={error} />}
      <Group>
        <Button
          variant="default"
          loading={sent !== null}
          disabled={file === null || isOther || (begun === null && source === null)}
          onClick={() => file !== null && void send(file)}
        >
          Upload
        </Button>
        {begun === null && (
          <Button variant="subtle" aria-expanded={hasOptions} onClick={() => setHasOptions(!hasOptions)}>
            Options
          </Button>
        )}
      </Group>
    </>
  )
}

async function create({ name, size }: File, source: string, options: Options): Promise<UploadedFile> {
  const input = { source, fileName: name, bytes: size, ...(await inputOf(options)) }
  const { createImportUpload } = await request(CreateImportUploadDocument, { input })
  if (createImportUpload == null) throw new Error('The upload was not begun.')
  return createImportUpload.importUpload
}

const WORDS = {
  uploading: 'is being uploaded',
  rehearsing: 'is being rehearsed: nothing is changed yet',
  rehearsed: 'was rehearsed: nothing is changed yet. This is what an import does',
  importing: 'is being imported',
  imported: 'was imported',
  failed: 'could not be imported',
} as const satisfies Record<UploadedFile['state'], string>

function State({ upload }: { upload: UploadedFile }) {
  const { id, state, fileName, bytes, bytesRead, error } = upload
  const run = useWrite(RunImportUploadDocument, [ImportUploadsDocument])
  const remove = useWrite(DeleteImportUploadDocument, [ImportUploadsDocument, ImportsDocument])
  const shown = upload.report ?? upload.rehearsal
  const input = { input: { id } }
  return (
    <Stack gap="xs">
      <Text size="sm" component="output">
        {fileName} {WORDS[state]}.{error !== null && ` ${error}`}
      </Text>
      {(state === 'rehearsing' || state === 'importing') && (
        <Progress value={(100 * bytesRead) / bytes} aria-label="Read by the worker" />
      )}
      {shown != null && (
        <>
          {shown.already > 0 && <Text size="sm">{formatNumber(shown.already)} items were there before.</Text>}
          <ImportItems {...shown} />
        </>
      )}
      {(run.error ?? remove.error) !== null && <Problem error={run.error ?? remove.error} />}
      <Group>
        {state === 'rehearsed' && (
          <Button loading={run.isPending} onClick={() => run.mutate(input)}>
            Import now
          </Button>
        )}
        <Button variant="default" loading={remove.isPending} onClick={() => remove.mutate(input)}>
          {ENDED.has(state) ? 'Dismiss' : 'Cancel'}
        </Button>
      </Group>
    </Stack>
  )
}
