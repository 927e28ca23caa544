import { Anchor, Badge, Button, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { Link, useNavigate, useParams } from 'react-router'

import { CreateSiteDocument, IdentityProviderDocument, SitesDocument } from '../../../generated/console.ts'
import { useApi, useWholeList, useWrite } from '../../api/queries.ts'
import { Breakable } from '../../ui/breakable.tsx'
import { IconPlus } from '../../ui/icons.tsx'
import { Dialog } from '../../ui/inputs/dialog.tsx'
import { DataTable, List } from '../../ui/list.tsx'
import { PageFrame } from '../../ui/page.tsx'
import { Empty, NotFound } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'
import { SiteForm } from './form.tsx'
import { Guests } from './mailer.tsx'
import { ALL_SITES, SitePage } from './site.tsx'
import type { Site } from './service.ts'

/** The sites, of which there are at most 50, or the one that the path names. */
export function Page() {
  const { id } = useParams()
  const list = useWholeList(SitesDocument, { first: 100 }, ({ sites }) => sites, {
    everyMs: 5_000,
    arrange: (sites) => sites,
  })
  const [isCreating, setCreating] = useState(false)
  const onClose = (): void => setCreating(false)
  const named = list.nodes?.find((each) => each.id === id)
  if (named !== undefined) return <SitePage site={named} />
  if (id !== undefined && list.nodes !== undefined) return <NotFound of="site" list={ALL_SITES} />
  return (
    <PageFrame
      title="Sites"
      about="Pages without a backend: two lines show the comments of each, by a public key."
      actions={
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
          Add a site
        </Button>
      }
    >
      <List
        list={list}
        of="sites"
        empty={<Empty title="There is no site yet">Add one to get the lines for its pages.</Empty>}
      >
        {(sites) => (
          <DataTable
            label="Sites"
            head={['Name', 'Origins', 'Readers can write', 'Guests can write', 'Created']}
            minWidth={720}
          >
            {sites.map((site) => (
              <SiteRow key={site.id} site={site} />
            ))}
          </DataTable>
        )}
      </List>
      {isCreating && <Create onClose={onClose} />}
    </PageFrame>
  )
}

function SiteRow({ site }: { site: Site }) {
  const { id, name, origins, createdAt } = site
  return (
    <Table.Tr>
      <Table.Td miw={120}>
        <Anchor component={Link} to={id} size="sm" {...WRITTEN}>
          {name}
        </Anchor>
      </Table.Td>
      <Table.Td miw={200} {...WRITTEN}>
        {origins.map((origin) => (
          <Text key={origin} size="sm">
            <Breakable text={origin} />
          </Text>
        ))}
      </Table.Td>
      <Table.Td>
        <Readers site={site} />
      </Table.Td>
      <Table.Td>
        <Guests site={site} />
      </Table.Td>
      <Table.Td>
        <Time at={createdAt} />
      </Table.Td>
    </Table.Tr>
  )
}

/** Whether readers can write on a site. Only an issuer makes more of them than its guests. */
function Readers({ site: { posting, takesGuests } }: { site: Site }) {
  const { data } = useApi(IdentityProviderDocument, {})
  if (!posting) return <Badge>no</Badge>
  if (data === undefined || data.settings.identity.issuer !== null) return 'yes'
  return takesGuests ? 'only guests' : <Badge color="yellow">no issuer is set</Badge>
}

/** Adds a site, and goes to its page, which has the lines to paste. */
function Create({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const create = useWrite(CreateSiteDocument, [SitesDocument])
  return (
    <Dialog title="Add a site" size="lg" onClose={onClose}>
      <SiteForm
        action="Add the site"
        onCancel={onClose}
        onSubmit={async (input) => {
          const { createSite } = await create.mutateAsync({ input })
          await navigate(createSite.site.id)
        }}
      />
    </Dialog>
  )
}
