import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'

import {
  DiscussionDocument,
  type DiscussionQuery,
  DiscussionsDocument,
  UpdateDiscussionDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'

const LABELS = { externalId: 'External id', title: 'Title', url: 'URL' }

type Discussion = Pick<NonNullable<DiscussionQuery['discussion']>, 'id' | keyof typeof LABELS>

/**
 * Changes what names a page. Fields that were left alone are not sent: others may have changed
 * them.
 */
export function EditDiscussion({ discussion, onClose }: { discussion: Discussion; onClose: () => void }) {
  const { id, externalId, title, url } = discussion
  const update = useWrite(UpdateDiscussionDocument, [DiscussionDocument, DiscussionsDocument])
  const form = useForm({
    initialValues: { externalId, title: title ?? '', url: url ?? '' },
    validate: { externalId: (text) => (text === '' ? 'Enter the id of the page at your site.' : null) },
  })
  const send = async (values: typeof form.values): Promise<void> => {
    await update.mutateAsync({
      input: {
        id,
        ...(form.isDirty('externalId') && { externalId: values.externalId }),
        ...(form.isDirty('title') && { title: values.title === '' ? null : values.title }),
        ...(form.isDirty('url') && { url: values.url === '' ? null : values.url }),
      },
    })
    onClose()
  }
  return (
    <Dialog title="Edit the page" onClose={onClose}>
      <Form form={form} labels={LABELS} send={send} action="Save" onCancel={onClose}>
        <TextInput
          label={LABELS.externalId}
          description="The key of the page at your site. The former one leads here for a year."
          data-autofocus
          {...form.getInputProps('externalId')}
        />
        <TextInput label={LABELS.title} maxLength={500} {...form.getInputProps('title')} />
        <TextInput label={LABELS.url} {...form.getInputProps('url')} />
      </Form>
    </Dialog>
  )
}
