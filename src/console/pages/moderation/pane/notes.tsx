import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useRef } from 'react'

import {
  CommentContextDocument,
  type ContextNotesFragment,
  CreateNoteDocument,
  DeleteNoteDocument,
  type NoteOn,
} from '../../../../generated/console.ts'
import { useWrite } from '../../../api/queries.ts'
import { may, whoIsHere } from '../../../api/session.ts'
import { Form } from '../../../ui/inputs/form.tsx'
import { Problem } from '../../../ui/states.tsx'
import { Time } from '../../../ui/time.tsx'
import { WRITTEN } from '../../../ui/written.ts'

const OUTDATED = [CommentContextDocument]

/** The moderators' notes on a reader or a comment, and a field for another one. */
export function Notes({ on, of, notes }: { on: NoteOn; of: string; notes: ContextNotesFragment }) {
  const create = useWrite(CreateNoteDocument, OUTDATED)
  const form = useForm({
    initialValues: { text: '' },
    validate: { text: (text) => (text.trim() === '' ? 'Write something first.' : null) },
  })
  const field = useRef<HTMLTextAreaElement>(null)
  const labels = { text: `A note on the ${of}` }
  const send = async ({ text }: { text: string }): Promise<void> => {
    await create.mutateAsync({ input: { on, text } })
    form.reset()
  }
  return (
    <Stack gap="xs">
      {notes.nodes.length > 0 && (
        <Stack component="ul" gap="xs" m={0} p={0} style={{ listStyle: 'none' }} aria-label={`Notes on the ${of}`}>
          {notes.nodes.map((note) => (
            <Note key={note.id} note={note} onDeleted={() => field.current?.focus()} />
          ))}
        </Stack>
      )}
      {notes.pageInfo.hasNextPage && (
        <Text size="xs" c="dimmed">
          and earlier ones
        </Text>
      )}
      <Form form={form} labels={labels} send={send}>
        <Textarea
          ref={field}
          label={labels.text}
          maxLength={2000}
          autosize
          minRows={1}
          {...form.getInputProps('text')}
        />
        <Group justify="flex-end">
          <Button type="submit" size="compact-sm" variant="default" loading={create.isPending}>
            Add the note
          </Button>
        </Group>
      </Form>
    </Stack>
  )
}

function Note({
  note: { id, text, createdAt, author },
  onDeleted,
}: {
  note: ContextNotesFragment['nodes'][number]
  /** The pressed button is gone with its note. */
  onDeleted: () => void
}) {
  const remove = useWrite(DeleteNoteDocument, OUTDATED)
  // A deleted key or admin has no name.
  const by = author.email ?? author.label ?? 'somebody'
  const isOwn = author.kind === 'admin' && author.actorId === whoIsHere()
  return (
    <li>
      <Text size="sm" {...WRITTEN}>
        {text}
      </Text>
      <Group gap="xs">
        <Text size="xs" c="dimmed" {...WRITTEN}>
          <bdi>{by}</bdi>, <Time at={createdAt} size="xs" />
        </Text>
        {(isOwn || may('admin')) && (
          <Button
            size="compact-xs"
            variant="subtle"
            aria-label={`Delete the note: ${text.slice(0, 60)}`}
            loading={remove.isPending}
            onClick={() => void remove.mutateAsync({ input: { noteId: id } }).then(onDeleted, () => undefined)}
          >
            Delete
          </Button>
        )}
      </Group>
      {remove.error !== null && <Problem error={remove.error} />}
    </li>
  )
}
