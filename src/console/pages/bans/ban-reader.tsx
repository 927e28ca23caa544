import { Button, Checkbox, Group, Input, NumberInput, SegmentedControl, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMediaQuery } from '@mantine/hooks'
import type { ReactNode } from 'react'

import {
  BanReaderDocument,
  QueuedReaderDocument,
  type BanFieldsFragment,
  type BanComments,
  ReaderDocument,
  ReadersDocument,
} from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { Form } from '../../ui/inputs/form.tsx'
import { daysFromNow } from '../../ui/time.tsx'

const UNITS = [
  { value: 'hours', label: 'Hours' },
  { value: 'days', label: 'Days' },
  { value: 'good', label: 'For good' },
]

/** The usual terms in days. */
const PRESETS = [
  { label: '1 day', until: 1 },
  { label: '1 week', until: 7 },
]

const LABELS = { until: 'Term', reason: 'Reason', shadow: 'In shadow', comments: 'Their comments' }

/** What becomes of them. The list of comments rejects pending ones, which can be taken back. */
type Treatment = BanComments | 'reject_pending'

const COMMENTS: { value: Treatment; label: string }[] = [
  { value: 'keep', label: 'Keep' },
  { value: 'reject_pending', label: 'Reject pending' },
  { value: 'withhold', label: 'Withhold' },
  { value: 'reject', label: 'Reject all' },
]

const EFFECTS: Record<Treatment, string> = {
  keep: 'What they have written stays as it is',
  reject_pending: 'Pending comments are rejected; you can take that back until it is sent',
  withhold: 'Approved comments leave the site and wait in the queue, until a moderator approves them',
  reject: 'Approved and pending comments are rejected',
}

const LONGEST = 36_500

// A type, not an interface: a form needs an index signature.
type Values = {
  unit: string
  /** The number of units; text while it is invalid. */
  until: number | string
  reason: string
  shadow: boolean
  comments: Treatment
}

/** RFC 3339; null: for good. */
const endOf = (unit: string, count: number): string | null =>
  unit === 'good' ? null : daysFromNow(unit === 'hours' ? count / 24 : count)

export function BanReader({
  readerId,
  name,
  ban: before,
  children,
  onBanned,
  onClose,
}: {
  readerId: string
  name: string
  /** The ban in force, which the new one replaces. */
  ban: BanFieldsFragment | null
  /** Information to show first. */
  children?: ReactNode
  /** Gets whether their pending comments are to be rejected. */
  onBanned: (isRejecting: boolean) => void
  onClose: () => void
}) {
  const ban = useWrite(BanReaderDocument, [ReaderDocument, ReadersDocument, QueuedReaderDocument])
  const form = useForm<Values>({
    initialValues: {
      unit: before !== null && before.until == null ? 'good' : 'days',
      until: 7,
      reason: before?.reason ?? '',
      shadow: before?.shadow ?? false,
      comments: 'keep',
    },
    validate: {
      until: (count, { unit }) => {
        const isTerm = Number(count) >= 1 && Number(count) <= LONGEST
        return unit === 'good' || isTerm ? null : `Say for how long: 1 to ${LONGEST}.`
      },
    },
  })
  // A shadow ban is noticed by what becomes of approved ones.
  const isPhone = useMediaQuery('(max-width: 48em)', undefined, { getInitialValueInEffect: false })
  const choices = COMMENTS.filter(({ value }) => !form.values.shadow || value === 'keep' || value === 'reject_pending')
  const treatment = choices.find(({ value }) => value === form.values.comments)?.value ?? 'keep'
  const send = async ({ unit, until, reason, shadow }: Values): Promise<void> => {
    const why = reason.trim()
    const term = { readerId, until: endOf(unit, Number(until)), reason: why === '' ? null : why }
    const comments = treatment === 'reject_pending' ? 'keep' : treatment
    await ban.mutateAsync({ input: { ...term, shadow, comments } })
    onBanned(treatment === 'reject_pending')
    onClose()
  }
  return (
    <Dialog onClose={onClose} title={`Ban ${name}`}>
      <Form form={form} labels={LABELS} send={send} action="Ban" color="red" onCancel={onClose}>
        {children}
        <Group gap="xs">
          {PRESETS.map(({ label, until }) => (
            <Button
              key={label}
              size="compact-sm"
              variant="default"
              onClick={() => form.setValues({ unit: 'days', until })}
            >
              {label}
            </Button>
          ))}
        </Group>
        <Group align="flex-start">
          <Input.Wrapper label={LABELS.until} labelElement="div">
            <SegmentedControl
              display="flex"
              aria-label={LABELS.until}
              data={UNITS}
              value={form.values.unit}
              onChange={(unit) => form.setFieldValue('unit', unit)}
            />
          </Input.Wrapper>
          {form.values.unit !== 'good' && (
            <NumberInput
              label={`How many ${form.values.unit}`}
              min={1}
              max={LONGEST}
              allowDecimal={false}
              w={140}
              data-autofocus
              {...form.getInputProps('until')}
            />
          )}
        </Group>
        <Textarea
          label={LABELS.reason}
          description="Only moderators see it"
          maxLength={500}
          autosize
          minRows={2}
          {...form.getInputProps('reason')}
        />
        <Checkbox
          label={LABELS.shadow}
          description="They can write as before and do not notice the ban. Each comment waits for a moderator"
          {...form.getInputProps('shadow', { type: 'checkbox' })}
        />
        {choices.length > 1 && (
          <Input.Wrapper label={LABELS.comments} labelElement="div" description={EFFECTS[treatment]}>
            <SegmentedControl
              orientation={isPhone ? 'vertical' : 'horizontal'}
              fullWidth
              mt="xs"
              aria-label={LABELS.comments}
              data={choices}
              value={treatment}
              onChange={(comments) => form.setFieldValue('comments', comments)}
            />
          </Input.Wrapper>
        )}
      </Form>
    </Dialog>
  )
}
