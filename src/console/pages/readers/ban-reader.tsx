import { Button, Checkbox, Group, Input, NumberInput, SegmentedControl, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { ReactNode } from 'react'

import {
  BanReaderDocument,
  QueuedReaderDocument,
  type BanFieldsFragment,
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

const LABELS = { until: 'Term', reason: 'Reason', shadow: 'In shadow' }

const LONGEST = 36_500

// A type, not an interface: a form needs an index signature.
type Values = {
  unit: string
  /** The number of units; text while it is invalid. */
  until: number | string
  reason: string
  shadow: boolean
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
  onBanned?: () => void
  onClose: () => void
}) {
  const ban = useWrite(BanReaderDocument, [ReaderDocument, ReadersDocument, QueuedReaderDocument])
  const form = useForm<Values>({
    initialValues: {
      unit: before !== null && before.until == null ? 'good' : 'days',
      until: 7,
      reason: before?.reason ?? '',
      shadow: before?.shadow ?? false,
    },
    validate: {
      until: (count, { unit }) => {
        const isTerm = Number(count) >= 1 && Number(count) <= LONGEST
        return unit === 'good' || isTerm ? null : `Say for how long: 1 to ${LONGEST}.`
      },
    },
  })
  const send = async ({ unit, until, reason, shadow }: Values): Promise<void> => {
    const why = reason.trim()
    const input = { readerId, until: endOf(unit, Number(until)), reason: why === '' ? null : why, shadow }
    await ban.mutateAsync({ input })
    onBanned?.()
    onClose()
  }
  return (
    <Dialog onClose={onClose} title={`Ban ${name}`}>
      <Form form={form} labels={LABELS} send={send}>
        {children}
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
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" type="submit" loading={ban.isPending}>
            Ban
          </Button>
        </Group>
      </Form>
    </Dialog>
  )
}
