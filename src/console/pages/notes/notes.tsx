import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { type ReactNode, useRef } from 'react'

import {
  CommentContextDocument,
  CreateNoteDocument,
  DeleteNoteDocument,
  type NoteFieldsFragment,
  type NoteOn,
  NotesDocument,
} from '../../../generated/console.ts'
import { useList, useWrite } from '../../api/queries.ts'
import { may, whoIsHere } from '../../api/session.ts'
import { Boundary } from '../../ui/boundary.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { Answered, Problem } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

const OUTDATED = [CommentContextDocument, NotesDocument]

interface NotesOf {
  on: NoteOn
  /** What they are on: "reader", "comment". */
  of: string
}

/** `Notes` that ask for themselves, page by page. */
export function AllNotes(about: NotesOf) {
  const list = useList(NotesDocument, { on: about.on, first: 20 }, ({ notes }) => notes, { everyMs: 5_000 })
  return (
    <Answered query={list} of={`the notes on the ${about.of}`}>
      {() => (
        <Notes {...about} notes={list.nodes ?? []}>
          {list.hasNextPage && (
            <Button
              size="compact-sm"
              variant="subtle"
              loading={list.isFetchingNextPage}
              onClick={() => void list.fetchNextPage()}
            >
              Earlier notes
            </Button>
          )}
        </Notes>
      )}
    </Answered>
  )
}

/** The moderators' notes on a reader or a comment, what follows them, and a field for another. */
export function Notes({
  on,
  of,
  notes,
  children,
}: NotesOf & { notes: readonly NoteFieldsFragment[]; children: ReactNode }) {
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
    // The button, which was disabled meanwhile, has lost the focus.
    field.current?.focus()
  }
  return (
    <Stack gap="xs">
      {notes.length > 0 && (
        <Stack component="ul" gap="xs" m={0} p={0} style={{ listStyle: 'none' }} aria-label={`Notes on the ${of}`}>
          {notes.map((note) => (
            <Boundary key={note.id}>
              <Note note={note} onDeleted={() => field.current?.focus()} />
            </Boundary>
          ))}
        </Stack>
      )}
      {children}
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
  note: NoteFieldsFragment
  /** The pressed button is gone with its note. */
  onDeleted: () => void
}) {
  const remove = useWrite(DeleteNoteDocument, OUTDATED)
  // A deleted key or admin has no name.
  const by = author.email ?? author.label ?? 'somebody'
  const isOwn = author.kind === 'admin' && author.id === whoIsHere()
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
