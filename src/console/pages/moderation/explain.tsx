import { Checkbox, Group, Radio, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'

import { PendingOfReaderDocument, QueuedReaderDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { type Decision, DECISION_REASONS, isDecisionReason } from '../../ui/decision.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { formatCount } from '../../ui/numbers.ts'
import type { Target } from './deliver.ts'

const LABELS = { reason: 'Reason', message: 'Message', isAll: 'All of this reader' }

/** As many of a reader's comments are rejected together, at most. */
const MOST = 1_000

/** The pending comments of a reader. */
export async function pendingOf(readerId: string): Promise<Target[]> {
  const found: Target[] = []
  for (let after: string | null = null; ;) {
    const { reader }: PendingOfReaderResult = await request(PendingOfReaderDocument, { id: readerId, after })
    if (reader?.comments == null) return found
    found.push(...reader.comments.nodes)
    after = reader.comments.pageInfo.endCursor ?? null
    if (!reader.comments.pageInfo.hasNextPage || after === null || found.length >= MOST) return found.slice(0, MOST)
  }
}

type PendingOfReaderResult = Awaited<ReturnType<NonNullable<(typeof PendingOfReaderDocument)['__apiType']>>>

// A type, not an interface: a form needs an index signature.
type Values = { reason: string; message: string; isAll: boolean }

const VERBS = { reject: 'Reject', delete: 'Delete' } as const

const IS_MISSING = 'Choose a reason, or write a message. “Reject” beside the comment needs neither.'

/**
 * Asks what the author of a comment is told, and for a rejection whether all their pending comments
 * are meant.
 */
export function ExplainDialog({
  verb,
  about,
  reader,
  onDecide,
  onClose,
}: {
  verb: keyof typeof VERBS
  /** What the action does. */
  about?: string
  /** The author; null if erased. */
  reader: { id: string; name: string } | null
  /** `pending`: all pending comments of the author, if these are meant. */
  onDecide: (decision: Decision, pending: readonly Target[]) => void
  onClose: () => void
}) {
  const { data } = useApi(
    QueuedReaderDocument,
    { id: reader?.id ?? '' },
    { enabled: reader !== null && verb === 'reject' },
  )
  const pending = data?.reader?.commentCounts?.pending ?? 0
  const form = useForm<Values>({
    initialValues: { reason: '', message: '', isAll: false },
    validate: {
      // The only way to delete is this form, which then asks for nothing.
      reason: (reason, { message, isAll }) =>
        verb === 'reject' && !isAll && reason === '' && message.trim() === '' ? IS_MISSING : null,
    },
  })
  const send = async ({ reason, message, isAll }: Values): Promise<void> => {
    const all = isAll && reader !== null ? await pendingOf(reader.id) : []
    const text = message.trim()
    onClose()
    onDecide({ reason: isDecisionReason(reason) ? reason : null, message: text === '' ? null : text }, all)
  }
  return (
    <Dialog title={`${VERBS[verb]} the comment${reader === null ? '' : ` of ${reader.name}`}`} onClose={onClose}>
      <Form form={form} labels={LABELS} send={send} action={VERBS[verb]} color="red.9" onCancel={onClose}>
        {about !== undefined && <Text size="sm">{about}</Text>}
        <Radio.Group label={LABELS.reason} {...form.getInputProps('reason')}>
          <Group gap="sm" my={4}>
            {Object.entries(DECISION_REASONS).map(([value, label], index) => (
              <Radio key={value} value={value} label={label} data-autofocus={index === 0 || undefined} />
            ))}
          </Group>
        </Radio.Group>
        <Textarea
          label={LABELS.message}
          description="The author of the comment gets the reason and the message"
          maxLength={500}
          autosize
          minRows={2}
          {...form.getInputProps('message')}
        />
        {reader !== null && verb === 'reject' && (
          <Checkbox
            label="Reject all their pending comments"
            description={`Waiting now: ${formatCount(pending, MOST)}`}
            {...form.getInputProps('isAll', { type: 'checkbox' })}
          />
        )}
      </Form>
    </Dialog>
  )
}
