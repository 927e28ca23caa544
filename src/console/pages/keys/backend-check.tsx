import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'

import { BackendCheckDocument } from '../../../generated/console.ts'
import { request } from '../../api/request.ts'
import { useTestForm } from '../../ui/findings.tsx'

/** Has the service ask the backend of the pages, and says what it answered. */
export function BackendCheck() {
  const [url, setUrl] = useState('')
  const { onSubmit, isBusy, outcome } = useTestForm(async () => {
    const { backendCheck } = await request(BackendCheckDocument, { url: url.trim() })
    return [{ isGood: backendCheck.answers, text: backendCheck.finding }]
  })
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="xs" maw={640}>
        <Text size="sm">The service asks the backend of your pages as the widget does, and says what it answers.</Text>
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
        {outcome}
      </Stack>
    </form>
  )
}
