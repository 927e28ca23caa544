import { Button, Checkbox, Group, Select, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'

import { ApiKeysDocument, type Capability, CreateApiKeyDocument } from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { daysFromNow } from '../../ui/time.tsx'

/** Each capability, and what it allows. */
const CAPABILITIES: Readonly<Record<Capability, string>> = {
  moderate_content: 'Approve, reject and delete comments, lock discussions, ban readers',
  manage_settings: 'Change settings, create identity secrets, export and erase readers',
  manage_webhooks: 'Register webhooks and read their deliveries',
  manage_api_keys: 'Create and revoke keys with at most the capabilities of this one',
  view_analytics: 'Read the analytics',
}

/** What keys are made for most often. */
const PRESETS: readonly { label: string; capabilities: readonly Capability[] }[] = [
  { label: 'Website', capabilities: [] },
  { label: 'Moderation tool', capabilities: ['moderate_content', 'view_analytics'] },
  { label: 'Webhook set-up', capabilities: ['manage_webhooks'] },
  { label: 'Administration', capabilities: Object.keys(CAPABILITIES) as Capability[] },
]

const LABELS = { label: 'Label', capabilities: 'Capabilities', expiresAt: 'Expires' }

/** Lifetimes in days. */
const TERMS = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]

export function CreateKey({ onCreated, onClose }: { onCreated: (key: string | null) => void; onClose: () => void }) {
  const create = useWrite(CreateApiKeyDocument, [ApiKeysDocument])
  const form = useForm({
    initialValues: { label: '', capabilities: [] as Capability[], expiresAt: '' },
    validate: { label: (label) => (label.trim() === '' ? 'Enter what the key is for.' : null) },
  })
  const send = async ({ expiresAt: days, ...key }: typeof form.values): Promise<void> => {
    const expiresAt = days === '' ? null : daysFromNow(Number(days))
    const { createApiKey } = await create.mutateAsync({ input: { ...key, expiresAt } })
    onCreated(createApiKey.key)
  }
  return (
    <Dialog onClose={onClose} title="Create a key" size="lg">
      <Form form={form} labels={LABELS} send={send} action="Create the key" onCancel={onClose}>
        <TextInput
          label={LABELS.label}
          description="What the key is for, and where it is kept"
          maxLength={100}
          data-autofocus
          {...form.getInputProps('label')}
        />
        <Group gap="xs">
          {PRESETS.map(({ label, capabilities }) => (
            <Button
              key={label}
              variant="default"
              size="xs"
              onClick={() => form.setFieldValue('capabilities', [...capabilities])}
            >
              {label}
            </Button>
          ))}
        </Group>
        <Checkbox.Group
          label={LABELS.capabilities}
          description="Without capabilities, a key can read, post and react"
          {...form.getInputProps('capabilities')}
        >
          <Stack gap="xs" mt="xs">
            {Object.entries(CAPABILITIES).map(([value, description]) => (
              <Checkbox key={value} value={value} label={value} description={description} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Select label={LABELS.expiresAt} data={TERMS} allowDeselect={false} {...form.getInputProps('expiresAt')} />
      </Form>
    </Dialog>
  )
}
