import { Alert, Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core'
import { IconCheck, IconCopy } from './icons.tsx'

import { Dialog } from './inputs/dialog.tsx'
import { WRITTEN } from './written.ts'

/** A copy button that confirms the copy. */
export function Copy({ value, label = 'Copy' }: { value: string; label?: string }) {
  return (
    <CopyButton value={value} timeout={2_000}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          onClick={copy}
          leftSection={copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
        >
          <span aria-live="polite">{copied ? 'Copied' : label}</span>
        </Button>
      )}
    </CopyButton>
  )
}

const STANDARD_SECRET = 'The same secret for libraries of Standard Webhooks'

/** A secret that the service shows once: after closing, it can only be replaced. */
export function SecretOnce({
  title,
  secret,
  standardSecret,
  warning,
  onClose,
}: {
  title: string
  /** Null only in a replayed answer, which the console never requests. */
  secret: string | null
  /** The same secret in the form of Standard Webhooks, for one that has it. */
  standardSecret?: string | null
  /** What it allows, and what happens to it. */
  warning: string
  onClose: () => void
}) {
  return (
    <Dialog title={title} size="lg">
      <Stack>
        <Alert color="yellow">
          <Text size="sm">{warning}</Text>
        </Alert>
        <Code block {...WRITTEN} aria-label="The secret" tabIndex={0}>
          {secret}
        </Code>
        {standardSecret !== undefined && (
          <>
            <Text size="sm">{STANDARD_SECRET}</Text>
            <Code block {...WRITTEN} aria-label={STANDARD_SECRET} tabIndex={0}>
              {standardSecret}
            </Code>
          </>
        )}
        <Group justify="space-between">
          <Group>
            <Copy value={secret ?? ''} />
            {standardSecret !== undefined && <Copy value={standardSecret ?? ''} label="Copy the second form" />}
          </Group>
          <Button onClick={onClose}>I have stored it</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
