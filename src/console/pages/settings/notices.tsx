import { Button, Checkbox, Group, NativeSelect, Stack, Table, Text, TextInput, VisuallyHidden } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'

import {
  CreateNoticeChannelDocument,
  DeleteNoticeChannelDocument,
  NoticeChannelsDocument,
  type NoticeChannelsQuery,
  TestNoticeChannelDocument,
  UpdateNoticeChannelDocument,
} from '../../../generated/console.ts'
import { wordsOf } from '../../api/errors.ts'
import { useList, useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { Section } from '../../ui/section.tsx'
import { Empty } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

type Channel = NoticeChannelsQuery['noticeChannels']['nodes'][number]
type Kind = Channel['kind']
type Cause = Channel['on'][number]

const KINDS: Readonly<Record<Kind, string>> = {
  slack: 'Slack',
  discord: 'Discord',
  teams: 'Microsoft Teams',
  webhook: 'Your own program (JSON)',
}

const CAUSES: Readonly<Record<Cause, string>> = {
  comment_waiting: 'Comments wait for a moderator',
  endpoint_failing: 'A webhook endpoint fails',
  endpoint_disabled: 'A webhook endpoint was disabled',
  export_ready: 'An export is ready',
}

const LABELS = { kind: 'Where', url: 'Address', on: 'What' }

type Open = { of: 'new' } | { of: 'edit' | 'delete'; channel: Channel }

/** Where staff are told what waits for them. */
export function Notices() {
  const list = useList(NoticeChannelsDocument, { first: 20 }, ({ noticeChannels }) => noticeChannels, {
    everyMs: 10_000,
  })
  const [open, setOpen] = useState<Open | null>(null)
  const onClose = (): void => setOpen(null)
  return (
    <Section id="notices" title="Notices to staff">
      <Text size="sm" maw={640}>
        A channel gets a message when something waits for you: at most one a minute of each kind.
      </Text>
      <Group>
        <Button variant="default" onClick={() => setOpen({ of: 'new' })}>
          Add a channel
        </Button>
      </Group>
      <List list={list} of="channels" empty={<Empty title="There is no channel">Add one to be told.</Empty>}>
        {(channels) => (
          <DataTable
            label="Notice channels"
            head={['Where', 'What', 'Last message', <VisuallyHidden key="actions">Actions</VisuallyHidden>]}
          >
            {channels.map((channel) => (
              <Row key={channel.id} channel={channel} onOpen={(of) => setOpen({ of, channel })} />
            ))}
          </DataTable>
        )}
      </List>
      {open?.of === 'new' && <Add onClose={onClose} />}
      {open?.of === 'edit' && <Edit channel={open.channel} onClose={onClose} />}
      {open?.of === 'delete' && <Delete channel={open.channel} onClose={onClose} />}
    </Section>
  )
}

function Row({ channel, onOpen }: { channel: Channel; onOpen: (of: 'edit' | 'delete') => void }) {
  const { id, kind, host, on, lastSentAt, lastError } = channel
  const test = useWrite(TestNoticeChannelDocument, [NoticeChannelsDocument])
  const send = async (): Promise<void> => {
    try {
      await test.mutateAsync({ input: { id } })
      notifications.show({ message: `A worker sends a test message to ${host}. The list shows what becomes of it.` })
    } catch (error) {
      notifications.show({ color: 'red', message: wordsOf(error) })
    }
  }
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm">{KINDS[kind]}</Text>
        <Text size="xs" c="dimmed" {...WRITTEN}>
          {host}
        </Text>
      </Table.Td>
      <Table.Td>
        {on.map((cause) => (
          <Text key={cause} size="sm">
            {CAUSES[cause]}
          </Text>
        ))}
      </Table.Td>
      <Table.Td>
        {lastSentAt == null ? 'none yet' : <Time at={lastSentAt} />}
        {lastError != null && (
          <Text size="sm" c="red">
            Not taken: {lastError}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Button
            variant="default"
            size="xs"
            aria-label={`Test ${host}`}
            loading={test.isPending}
            onClick={() => void send()}
          >
            Test
          </Button>
          <Button variant="default" size="xs" aria-label={`Edit ${host}`} onClick={() => onOpen('edit')}>
            Edit
          </Button>
          <Button variant="default" size="xs" aria-label={`Delete ${host}`} onClick={() => onOpen('delete')}>
            Delete
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}

interface Values extends Record<string, unknown> {
  kind: Kind
  url: string
  on: Cause[]
}

function ChannelForm({
  channel,
  action,
  onSubmit,
  onCancel,
}: {
  channel?: Channel
  /** The button's label. */
  action: string
  onSubmit: (values: Values) => Promise<unknown>
  onCancel: () => void
}) {
  const form = useForm<Values>({
    initialValues: {
      kind: channel?.kind ?? 'slack',
      url: '',
      on: channel?.on ?? (Object.keys(CAUSES) as Cause[]),
    },
    validate: {
      url: (url) => (channel === undefined && url.trim() === '' ? 'Enter the address of the channel.' : null),
      on: (on) => (on.length === 0 ? 'Choose at least one.' : null),
    },
  })
  return (
    <Form
      form={form}
      labels={LABELS}
      send={(values) => onSubmit({ ...values, url: values.url.trim() })}
      action={action}
      onCancel={onCancel}
    >
      {channel === undefined && (
        <NativeSelect
          label={LABELS.kind}
          data={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
          {...form.getInputProps('kind')}
        />
      )}
      <TextInput
        label={LABELS.url}
        description={
          channel === undefined
            ? 'The https address of its webhook. It is a secret, and is not shown again.'
            : 'Leave it empty to keep the present one, which is not shown.'
        }
        autoComplete="off"
        data-autofocus
        {...form.getInputProps('url')}
      />
      <Checkbox.Group label={LABELS.on} {...form.getInputProps('on')}>
        <Stack gap="xs" mt="xs">
          {Object.entries(CAUSES).map(([cause, label]) => (
            <Checkbox key={cause} value={cause} label={label} />
          ))}
        </Stack>
      </Checkbox.Group>
    </Form>
  )
}

function Add({ onClose }: { onClose: () => void }) {
  const create = useWrite(CreateNoticeChannelDocument, [NoticeChannelsDocument])
  return (
    <Dialog title="Add a channel" onClose={onClose}>
      <ChannelForm
        action="Add the channel"
        onCancel={onClose}
        onSubmit={async (input) => {
          await create.mutateAsync({ input })
          onClose()
        }}
      />
    </Dialog>
  )
}

function Edit({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const update = useWrite(UpdateNoticeChannelDocument, [NoticeChannelsDocument])
  return (
    <Dialog title={`Edit ${channel.host}`} onClose={onClose}>
      <ChannelForm
        channel={channel}
        action="Save"
        onCancel={onClose}
        onSubmit={async ({ url, on }) => {
          await update.mutateAsync({ input: { id: channel.id, on, ...(url !== '' && { url }) } })
          onClose()
        }}
      />
    </Dialog>
  )
}

function Delete({ channel: { id, host }, onClose }: { channel: Channel; onClose: () => void }) {
  const remove = useWrite(DeleteNoticeChannelDocument, [NoticeChannelsDocument])
  return (
    <Confirm
      title={`Delete the channel at ${host}?`}
      action="Delete"
      onConfirm={() => remove.mutateAsync({ input: { id } })}
      onClose={onClose}
    >
      It gets no further messages.
    </Confirm>
  )
}
