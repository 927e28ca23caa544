import { Switch, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'

import type { Site } from './service.ts'
import { Form } from '../../ui/inputs/form.tsx'

type SiteValues = Pick<Site, 'name' | 'origins' | 'posting' | 'guests'>

const LABELS = { name: 'Name', origins: 'Origins', posting: 'Posting', guests: 'Guests' }

/**
 * The form of a new site, or of `site`. Errors of `onSubmit` are shown at the fields that they
 * name.
 */
export function SiteForm({
  site,
  action,
  onSubmit,
  onCancel,
}: {
  site?: SiteValues
  /** The button's label. */
  action: string
  onSubmit: (values: SiteValues) => Promise<unknown>
  onCancel: () => void
}) {
  const form = useForm({
    initialValues: {
      name: site?.name ?? '',
      origins: (site?.origins ?? []).join('\n'),
      posting: site?.posting ?? true,
      guests: site?.guests === 'email',
    },
    validate: {
      name: (name) => (name.trim() === '' ? 'Enter what the site is called.' : null),
      origins: (origins) => (originsIn(origins).length === 0 ? 'Enter at least one.' : null),
    },
  })
  return (
    <Form
      form={form}
      labels={LABELS}
      send={({ origins, guests, ...values }) =>
        onSubmit({ ...values, guests: guests ? 'email' : 'off', origins: originsIn(origins) })
      }
      action={action}
      onCancel={onCancel}
    >
      <TextInput
        label={LABELS.name}
        description="What the site is called here"
        maxLength={80}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Textarea
        label={LABELS.origins}
        description="Where its pages are, one a line: what their addresses begin with. Other pages are refused."
        placeholder="https://www.example.com"
        autosize
        maxRows={20}
        {...form.getInputProps('origins')}
      />
      <Switch
        label="Readers can write"
        description="Off: its pages show comments, and nobody posts or reacts there."
        {...form.getInputProps('posting', { type: 'checkbox' })}
      />
      <Switch
        label="Guests can write"
        description="With a name and an e-mail address that they confirm. It needs the address that sends the mails, and a secret that signs them: both are in the settings of guests."
        {...form.getInputProps('guests', { type: 'checkbox' })}
      />
    </Form>
  )
}

/** People paste the address of a page. What has no origin is left for the service to refuse. */
function originsIn(text: string): string[] {
  const given = text.split(/[\s,]+/).filter((each) => each !== '')
  const origins = given.map((each) => (/^https?:/i.test(each) && URL.canParse(each) ? new URL(each).origin : each))
  return [...new Set(origins)]
}
