import { Alert, Button, Group, PasswordInput, Stack, Text, Textarea } from '@mantine/core'
import { type FormEvent, useState } from 'react'

import { checkRequest, type Finding, type Given } from './check.ts'

const HINT = 'X-Service-Timestamp: …\nX-Service-Signature: …'

/** Tells whether a pasted request is genuine. The browser does it alone: nothing is sent. */
export function CheckRequest() {
  const [given, setGiven] = useState<Given>({ headers: '', body: '', secret: '' })
  const [finding, setFinding] = useState<Finding | null>(null)
  const field = (name: keyof Given) => ({
    value: given[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => {
      setGiven((before) => ({ ...before, [name]: value }))
      setFinding(null)
    },
  })
  // A page over plain http has no cryptography, unless it is on this machine.
  if (!isSecureContext) return <Text size="sm">Open the console over https to check a request here.</Text>
  const check = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setFinding(await checkRequest(given, Date.now()))
  }
  return (
    <Stack component="form" gap="sm" maw={640} onSubmit={(event) => void check(event)}>
      <Text size="sm" c="dimmed">
        Paste what your receiver got. It is checked in this browser alone: neither the request nor the secret is sent.
      </Text>
      <Textarea
        label="Request headers"
        placeholder={HINT}
        autosize
        minRows={2}
        maxRows={12}
        spellCheck={false}
        {...field('headers')}
      />
      <Textarea label="Raw body" autosize minRows={2} maxRows={12} spellCheck={false} {...field('body')} />
      <PasswordInput label="Signing secret" autoComplete="off" {...field('secret')} />
      <Group>
        <Button type="submit" variant="default">
          Check
        </Button>
      </Group>
      <div aria-live="polite">
        {finding !== null && (
          <Alert color={finding.isGenuine ? 'green' : 'red'} title={finding.isGenuine ? 'Genuine' : 'Not genuine'}>
            <Text size="sm">{finding.words}</Text>
          </Alert>
        )}
      </div>
    </Stack>
  )
}
