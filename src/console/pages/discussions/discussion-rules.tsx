import { Select, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'

import {
  DiscussionDocument,
  type DiscussionQuery,
  DiscussionsDocument,
  type ModerationMode,
  TenantRulesDocument,
  UpdateDiscussionDocument,
} from '../../../generated/console.ts'
import { useApi, useWrite } from '../../api/queries.ts'
import { may } from '../../api/session.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { durationWords } from '../../ui/durations.ts'
import { MODES } from '../../ui/moderation-modes.ts'
import { Form } from '../../ui/inputs/form.tsx'
import { isMoment, localTime } from '../../ui/inputs/moment.ts'

const LABELS = { moderationMode: 'Moderation', slowModeSeconds: 'Slow mode', closesAt: 'Locks itself' }

/** Usual values of slow mode, in seconds. */
const SLOW = [0, 10, 30, 60, 300, 900, 3600]

/** Slow mode in words. */
export const slowWords = (seconds: number): string =>
  seconds === 0 ? 'Any number of comments' : `One comment in ${durationWords(seconds, 'seconds')}`

type Discussion = Pick<NonNullable<DiscussionQuery['discussion']>, 'id' | keyof typeof LABELS>

/** Rules of one discussion, which stand over the tenant's. Only changed fields are sent. */
export function DiscussionRules({ discussion, onClose }: { discussion: Discussion; onClose: () => void }) {
  const { id, moderationMode, slowModeSeconds, closesAt } = discussion
  const update = useWrite(UpdateDiscussionDocument, [DiscussionDocument, DiscussionsDocument])
  const tenant = useApi(TenantRulesDocument, {}, { enabled: may('manage_settings') }).data?.settings
  const form = useForm({
    initialValues: {
      moderationMode: moderationMode ?? '',
      slowModeSeconds: slowModeSeconds === null ? '' : String(slowModeSeconds),
      closesAt: closesAt === null ? '' : localTime(Date.parse(closesAt)),
    },
    validate: { closesAt: (at) => (at === '' || isMoment(at) ? null : 'A day and a time, or nothing.') },
  })
  const send = async (values: typeof form.values): Promise<void> => {
    const { moderationMode: mode, slowModeSeconds: slow, closesAt: closes } = values
    await update.mutateAsync({
      input: {
        id,
        ...(form.isDirty('moderationMode') && { moderationMode: mode === '' ? null : (mode as ModerationMode) }),
        ...(form.isDirty('slowModeSeconds') && { slowModeSeconds: slow === '' ? null : Number(slow) }),
        ...(form.isDirty('closesAt') && { closesAt: closes === '' ? null : new Date(closes).toISOString() }),
      },
    })
    onClose()
  }
  const ofTenant = (words: string | undefined) => ({
    value: '',
    label: `As the settings say${words === undefined ? '' : `: ${words.charAt(0).toLowerCase()}${words.slice(1)}`}`,
  })
  const slow = [...new Set([...SLOW, ...(slowModeSeconds === null ? [] : [slowModeSeconds])])]
  return (
    <Dialog title="Rules of this discussion" onClose={onClose}>
      <Form form={form} labels={LABELS} send={send} action="Save" onCancel={onClose}>
        <Select
          label={LABELS.moderationMode}
          data={[
            ofTenant(tenant == null ? undefined : MODES[tenant.moderationMode]),
            ...Object.entries(MODES).map(([value, label]) => ({ value, label })),
          ]}
          allowDeselect={false}
          data-autofocus
          {...form.getInputProps('moderationMode')}
        />
        <Select
          label={LABELS.slowModeSeconds}
          description="How often each reader may write here"
          data={[
            ofTenant(tenant == null ? undefined : slowWords(tenant.slowModeSeconds)),
            ...slow.map((seconds) => ({ value: String(seconds), label: slowWords(seconds) })),
          ]}
          allowDeselect={false}
          {...form.getInputProps('slowModeSeconds')}
        />
        <TextInput
          type="datetime-local"
          label={LABELS.closesAt}
          description="Empty: as the settings say. A time in the past locks it at once"
          {...form.getInputProps('closesAt')}
        />
      </Form>
    </Dialog>
  )
}
