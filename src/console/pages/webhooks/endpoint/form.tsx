import { Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'

import type { EndpointFragment } from '../../../../generated/console.ts'
import { Form } from '../../../ui/inputs/form.tsx'
import { ALL, EventTypes } from './event-types.tsx'
import { headerLines, headersOf, idsOf } from './header-lines.ts'
import { PolicyFields } from './policy-fields.tsx'
import { policyErrors, policyInput, POLICY_LABELS, policyValues } from './policy.ts'

/** The fields of an endpoint, as both of its mutations take them. */
export interface EndpointValues {
  url: string
  description: string | null
  eventTypes: string[]
  discussionIds: string[] | null
  headers: ReturnType<typeof headersOf>
  policy: ReturnType<typeof policyInput>
}

const LABELS = {
  url: 'URL',
  description: 'Description',
  eventTypes: 'Events',
  discussionIds: 'Discussions',
  headers: 'Headers',
  ...POLICY_LABELS,
}

/**
 * The form of a new endpoint, or of `endpoint`. Errors of `onSubmit` are shown at the fields that
 * they name.
 */
export function EndpointForm({
  endpoint,
  action,
  onSubmit,
  onCancel,
}: {
  endpoint?: EndpointFragment
  /** The button's label. */
  action: string
  onSubmit: (values: EndpointValues) => Promise<unknown>
  onCancel: () => void
}) {
  // An endpoint's own values are not hidden.
  const [isOpen, setOpen] = useState(Object.values(endpoint?.ownPolicy ?? {}).some((own) => own !== null))
  const form = useForm({
    initialValues: {
      url: endpoint?.url ?? '',
      description: endpoint?.description ?? '',
      eventTypes: endpoint?.eventTypes ?? [ALL],
      discussionIds: (endpoint?.discussionIds ?? []).join('\n'),
      headers: headerLines(endpoint?.headers),
      policy: policyValues(endpoint?.ownPolicy),
    },
    validate: (values) => ({
      ...(values.url.trim() === '' ? { url: 'Enter the address that receives the events.' } : {}),
      ...(values.eventTypes.length === 0 ? { eventTypes: 'Choose at least one, or all.' } : {}),
      ...policyErrors(values.policy),
    }),
  })
  // Invalid values stay visible while they are corrected.
  if (!isOpen && Object.keys(form.errors).some((name) => name.startsWith('policy.'))) setOpen(true)
  const send = ({
    url,
    description,
    eventTypes,
    discussionIds,
    headers,
    policy,
  }: typeof form.values): Promise<unknown> =>
    onSubmit({
      url: url.trim(),
      description: description.trim() === '' ? null : description,
      eventTypes,
      discussionIds: idsOf(discussionIds),
      headers: headersOf(headers),
      policy: policyInput(policy),
    })
  return (
    <Form form={form} labels={LABELS} send={send} action={action} onCancel={onCancel}>
      <TextInput
        label={LABELS.url}
        description="An https address of yours. It must answer a challenge before it gets events."
        type="url"
        maxLength={2048}
        data-autofocus
        {...form.getInputProps('url')}
      />
      <TextInput
        label={LABELS.description}
        description="A note for yourself"
        maxLength={500}
        {...form.getInputProps('description')}
      />
      <EventTypes label={LABELS.eventTypes} {...form.getInputProps('eventTypes')} />
      <Textarea
        label={LABELS.discussionIds}
        description="The ids of the discussions whose events it gets, one a line. Empty: all."
        autosize
        maxRows={6}
        {...form.getInputProps('discussionIds')}
      />
      <Textarea
        label={LABELS.headers}
        description="Added to each request, one a line: name: value. Values are not shown again; a name alone keeps its value. Another origin of the URL drops them."
        autosize
        maxRows={10}
        {...form.getInputProps('headers')}
      />
      <PolicyFields
        isOpen={isOpen}
        onOpen={setOpen}
        propsOf={(name) => form.getInputProps(`policy.${name}`)}
        valueOf={(name) => form.values.policy[name]}
        onChange={(name, value) => form.setFieldValue(`policy.${name}`, value)}
      />
    </Form>
  )
}
