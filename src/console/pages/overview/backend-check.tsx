import { Button, Group, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'

import { BackendCheckDocument } from '../../../generated/console.ts'
import { request } from '../../api/request.ts'
import { type Finding, Findings } from '../../ui/findings.tsx'
import { Problem } from '../../ui/states.tsx'

/** Has the service ask the backend of the pages, and says what it answered. */
export function BackendCheck({ address }: { address: string }) {
  const [url, setUrl] = useState(address)
  const [finding, setFinding] = useState<Finding | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    setFinding(null)
    try {
      const { backendCheck } = await request(BackendCheckDocument, { url: url.trim() })
      setFinding({ isGood: backendCheck.answers, text: backendCheck.finding })
    } catch (refusal) {
      setError(refusal)
    }
    setBusy(false)
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap="xs" mt="xs">
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
        <div aria-live="polite">{finding !== null && <Findings findings={[finding]} />}</div>
        {error !== null && <Problem error={error} />}
      </Stack>
    </form>
  )
}
