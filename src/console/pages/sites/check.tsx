import { Button, Group, List, PasswordInput, Stack, Text, TextInput, ThemeIcon, VisuallyHidden } from '@mantine/core'
import { type FormEvent, useState } from 'react'

import type { Site } from './service.ts'
import { IconAlertTriangle, IconCheck } from '../../ui/icons.tsx'
import { Problem } from '../../ui/states.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { checkPage, type Finding } from './findings.ts'

/** Finds out whether a page of the site can show comments, and whether its readers can write. */
export function Check({ site }: { site: Site }) {
  const [address, setAddress] = useState('')
  const [token, setToken] = useState('')
  const [findings, setFindings] = useState<readonly Finding[] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    setFindings(null)
    try {
      setFindings(await checkPage(site, address, token.trim()))
    } catch (refusal) {
      setError(refusal)
    }
    setBusy(false)
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
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
        <div aria-live="polite">{findings !== null && <Findings findings={findings} />}</div>
        {error !== null && <Problem error={error} />}
      </Stack>
    </form>
  )
}

const Findings = ({ findings }: { findings: readonly Finding[] }) => (
  <List spacing="xs" center size="sm">
    {findings.map(({ isGood, text }) => (
      <List.Item
        key={text}
        icon={
          <ThemeIcon size={24} radius="xl" variant="light" color={isGood ? 'green' : 'red'}>
            {isGood ? <IconCheck size={14} aria-hidden /> : <IconAlertTriangle size={14} aria-hidden />}
          </ThemeIcon>
        }
      >
        <Text size="sm" {...WRITTEN}>
          <VisuallyHidden>{isGood ? 'Good: ' : 'To do: '}</VisuallyHidden>
          {text}
        </Text>
      </List.Item>
    ))}
  </List>
)
