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

/** A secret that the service shows once: after closing, it can only be replaced. */
export function SecretOnce({
  title,
  secret,
  other,
  warning,
  onClose,
}: {
  title: string
  /** Null only in a replayed answer, which the console never requests. */
  secret: string | null
  /** The same secret in another form. */
  other?: { label: string; secret: string | null }
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
        {other !== undefined && (
          <>
            <Text size="sm">{other.label}</Text>
            <Code block {...WRITTEN} aria-label={other.label} tabIndex={0}>
              {other.secret}
            </Code>
          </>
        )}
        <Group justify="space-between">
          <Group>
            <Copy value={secret ?? ''} />
            {other !== undefined && <Copy value={other.secret ?? ''} label="Copy the second form" />}
          </Group>
          <Button onClick={onClose}>I have stored it</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
