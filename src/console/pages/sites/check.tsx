import { Button, Group, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'

import type { Site } from './service.ts'
import { useTestForm } from '../../ui/findings.tsx'
import { checkPage } from './findings.ts'

/** Finds out whether a page of the site can show comments, and whether its readers can write. */
export function Check({ site }: { site: Site }) {
  const [address, setAddress] = useState('')
  const [token, setToken] = useState('')
  const { onSubmit, isBusy, outcome } = useTestForm(() => checkPage(site, address, token.trim()))
  return (
    <form onSubmit={onSubmit}>
      <Stack maw={640}>
        <TextInput
          label="Address of the page"
          description="Copy it from the browser that shows the page"
          placeholder={`${site.origins[0]}/a-page`}
          value={address}
          onChange={({ currentTarget }) => setAddress(currentTarget.value)}
        />
        <PasswordInput
          label="A reader's token (optional)"
          description="Of your issuer, as your page gives it to the widget. It is sent to this service alone, and not kept."
          autoComplete="off"
          value={token}
          onChange={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <Group>
          <Button type="submit" variant="default" loading={isBusy} disabled={address.trim() === ''}>
            Test
          </Button>
        </Group>
        {outcome}
      </Stack>
    </form>
  )
}
