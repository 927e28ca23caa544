import { Anchor, Badge, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Link, useNavigate } from 'react-router'

import { DeleteSiteDocument, SitesDocument, UpdateSiteDocument } from '../../../generated/console.ts'
import { useWrite } from '../../api/queries.ts'
import { Confirm } from '../../ui/inputs/confirm.tsx'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Section } from '../../ui/section.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { SiteForm } from './form.tsx'
import { MailerAlert } from './mailer.tsx'
import { PasteAndPreview } from './paste.tsx'
import type { Site } from './service.ts'
import { useTestForm } from '../../ui/findings.tsx'
import { checkPage } from './findings.ts'

export const ALL_SITES = { to: '/sites', label: 'All sites' }

/** One site: the lines for its pages, how they look, and a test of one of them. */
export function SitePage({ site }: { site: Site }) {
  return (
    <PageFrame
      title={site.name}
      about={
        <Anchor component={Link} to={ALL_SITES.to} size="sm">
          {ALL_SITES.label}
        </Anchor>
      }
      actions={<Actions site={site} />}
    >
      <Stack gap="xl">
        <Group gap={4}>
          {site.origins.map((origin) => (
            <Text key={origin} size="sm" pe="sm" {...WRITTEN}>
              {origin}
            </Text>
          ))}
          {!site.posting && <Badge>posting is off</Badge>}
          {site.takesGuests && <Badge>guests can write</Badge>}
        </Group>
        {site.guests === 'email' && <MailerAlert />}
        <PasteAndPreview site={site} />
        <Section title="Test from your page's address">
          <Check site={site} />
        </Section>
      </Stack>
    </PageFrame>
  )
}

function Actions({ site }: { site: Site }) {
  const [action, setAction] = useState<'edit' | 'delete' | null>(null)
  const onClose = (): void => setAction(null)
  return (
    <>
      <Button variant="default" size="xs" onClick={() => setAction('edit')}>
        Edit
      </Button>
      <Button variant="default" size="xs" onClick={() => setAction('delete')}>
        Delete
      </Button>
      {action === 'edit' && <Edit site={site} onClose={onClose} />}
      {action === 'delete' && <Delete site={site} onClose={onClose} />}
    </>
  )
}

interface ActionProps {
  site: Site
  onClose: () => void
}

function Edit({ site, onClose }: ActionProps) {
  const update = useWrite(UpdateSiteDocument, [SitesDocument])
  return (
    <Dialog title={`Edit ${site.name}`} size="lg" onClose={onClose}>
      <SiteForm
        site={site}
        action="Save"
        onCancel={onClose}
        onSubmit={async (values) => {
          await update.mutateAsync({ input: { id: site.id, ...values } })
          onClose()
        }}
      />
    </Dialog>
  )
}

function Delete({ site, onClose }: ActionProps) {
  const navigate = useNavigate()
  const remove = useWrite(DeleteSiteDocument, [SitesDocument])
  return (
    <Confirm
      title={`Delete ${site.name}?`}
      action="Delete"
      onConfirm={async () => {
        await remove.mutateAsync({ input: { id: site.id } })
        await navigate(ALL_SITES.to)
      }}
      onClose={onClose}
    >
      Pages with its key show no comments any more, within a second. This is final: another site has another key. The
      comments themselves stay.
    </Confirm>
  )
}

/** Finds out whether a page of the site can show comments, and whether its readers can write. */
function Check({ site }: { site: Site }) {
  const [address, setAddress] = useState('')
  const [token, setToken] = useState('')
  const { onSubmit, isBusy, outcome } = useTestForm(() => checkPage(site, address, token.trim()))
  return (
    <form onSubmit={onSubmit}>
      <Stack maw={640}>
        <TextInput
          label="Address of the page"
          description="Copy it from the browser that shows the page"
          placeholder={`${site.origins[0]}/a-page`}
          value={address}
          onChange={({ currentTarget }) => setAddress(currentTarget.value)}
        />
        <PasswordInput
          label="A reader's token (optional)"
          description="Of your issuer, as your page gives it to the widget. It is sent to this service alone, and not kept."
          autoComplete="off"
          value={token}
          onChange={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <Group>
          <Button type="submit" variant="default" loading={isBusy} disabled={address.trim() === ''}>
            Test
          </Button>
        </Group>
        {outcome}
      </Stack>
    </form>
  )
}
