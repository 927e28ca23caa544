import { Anchor, Button, Code, Group, List, Stack, Text, ThemeIcon, Title, VisuallyHidden } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { Link } from 'react-router'

import { FirstDeliveredDocument, type FirstStepsQuery } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { IconCheck } from '../../ui/icons.tsx'
import { isPast } from '../../ui/time.tsx'
import { WRITTEN } from '../../ui/written.ts'

const SNIPPET = `<script type="module" src="${new URL('../widget.js', document.baseURI).href}"></script>
<engagement-thread discussion="article-123" backend="/engagement"></engagement-thread>`

/** The titles of the guides. */
const GUIDES = {
  backend: 'Your backend',
  rest: 'REST',
  widget: 'Widget',
  stream: 'Stream',
  webhooks: 'Webhooks',
  'static-page': 'A page without a backend',
  guests: 'Guests',
} as const

interface StepProps {
  isDone: boolean
  /** The page of docs/guides about it. */
  guide: keyof typeof GUIDES
  children: ReactNode
}

/** A backend may make discussions ahead of their comments: some of the list may have none. */
export const hasComments = ({ discussions }: FirstStepsQuery): boolean =>
  discussions.nodes.some(({ lastCommentedAt }) => lastCommentedAt !== null)

/**
 * A tenant's first steps, each with what the service itself has seen of it, until all are done.
 * Steps that the member may not look at are left out.
 */
export function FirstSteps({ steps }: { steps: FirstStepsQuery }) {
  const [isHidden, setHidden] = useLocalStorage({
    key: 'engagement-console-first-steps-hidden',
    defaultValue: false,
    getInitialValueInEffect: false,
  })
  const hasDelivered = useHasDelivered(steps)
  const canHide = hasComments(steps)
  const first = hasOnlySites(steps)
    ? [siteStep, sitePageStep, siteReadersStep]
    : [keyStep, identityStep, backendStep, widgetStep, originStep]
  const list = first.flatMap((step) => step(steps) ?? [])
  if (steps.webhookEndpoints != null) list.push(webhookStep(steps.webhookEndpoints.nodes, hasDelivered))
  // Until it is known, nothing may appear that disappears at once.
  if (hasDelivered === null || list.every(({ isDone }) => isDone) || (isHidden && canHide)) return null
  return (
    <Stack component="section" maw={640} aria-label="First steps">
      <Group justify="space-between">
        <Title order={2} size="h4">
          First steps
        </Title>
        {canHide && (
          <Button variant="default" size="compact-sm" onClick={() => setHidden(true)}>
            Hide
          </Button>
        )}
      </Group>
      {!canHide && <Text size="sm">There are no comments yet. The figures begin with the first one.</Text>}
      <List type="ordered" spacing="md">
        {list.map((step, index) => (
          <Step key={index} number={index + 1} {...step} />
        ))}
      </List>
    </Stack>
  )
}

/** Whether the oldest verified endpoint has answered 2xx; null until it is known. */
function useHasDelivered({ webhookEndpoints }: FirstStepsQuery): boolean | null {
  const id = webhookEndpoints?.nodes.findLast(({ state }) => state === 'verified')?.id
  const { data, isPending } = useApi(
    FirstDeliveredDocument,
    { id: id ?? '' },
    { enabled: id !== undefined, everyMs: 30_000 },
  )
  if (id === undefined) return false
  return isPending ? null : (data?.webhookDeliveries?.nodes.length ?? 0) > 0
}

const isOfPages = ({ capabilities }: { capabilities: readonly unknown[] }): boolean => capabilities.length === 0

/** Whether a backend of pages has asked the service; null for a member who may not look at keys. */
const isBackendUsed = ({ apiKeys }: FirstStepsQuery): boolean | null =>
  apiKeys?.nodes.some((key) => isOfPages(key) && key.lastUsedAt !== null) ?? null

/** Whether pages have comments by way of a backend: those of a shell do not count. */
const isBackendDone = (steps: FirstStepsQuery): boolean => hasComments(steps) && isBackendUsed(steps) !== false

/** Whether pages ask the service by the key of a site, and no backend has asked yet. */
const hasOnlySites = (steps: FirstStepsQuery): boolean =>
  steps.sites != null && steps.sites.nodes.length > 0 && isBackendUsed(steps) !== true

const siteStep = (): StepProps => ({
  isDone: true,
  guide: 'static-page',
  children: (
    <>
      <PageLink to="/sites">Add a site</PageLink> with the origins of your pages: it has the public key that they name.
    </>
  ),
})

/** A site's own page writes the address of the page as the external id. */
function sitePageStep({ sites, discussions }: FirstStepsQuery): StepProps {
  const origins = (sites?.nodes ?? []).flatMap((site) => site.origins)
  const [site] = sites?.nodes ?? []
  return {
    isDone: discussions.nodes.some(
      ({ externalId, lastCommentedAt }) =>
        lastCommentedAt !== null && origins.some((origin) => externalId.startsWith(`${origin}/`)),
    ),
    guide: 'static-page',
    children: (
      <>
        Put the two lines of <PageLink to={`/sites/${site?.id ?? ''}`}>{site?.name ?? 'the site'}</PageLink> on a page
        of it, and write its first comment there. The page of the site tests an address.
      </>
    ),
  }
}

function siteReadersStep({ sites, settings }: FirstStepsQuery): StepProps | null {
  if (settings == null) return null
  return {
    isDone: settings.identity.issuer !== null || sites?.nodes.some(({ takesGuests }) => takesGuests) === true,
    guide: 'guests',
    children: (
      <>
        Say who may write: readers of your <PageLink to="/settings#identity">identity provider</PageLink>, or{' '}
        <PageLink to="/settings#guests">guests</PageLink> with a confirmed e-mail address.
      </>
    ),
  }
}

/** The backend that pages ask. A comment of a page shows that it answers. */
function backendStep(steps: FirstStepsQuery): StepProps | null {
  if (steps.apiKeys == null) return null
  return {
    isDone: isBackendDone(steps),
    guide: 'backend',
    children: (
      <>
        Let the backend of your pages answer the widget below <Code>/engagement</Code>. The page of the keys{' '}
        <PageLink to="/keys#backend">tests it</PageLink>.
      </>
    ),
  }
}

function keyStep({ apiKeys }: FirstStepsQuery): StepProps | null {
  if (apiKeys == null) return null
  const live = apiKeys.nodes.filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || !isPast(expiresAt)),
  )
  // The key of the first start has all capabilities, so it is not meant for a page's backend.
  const ofPages = live.filter(isOfPages)
  return {
    isDone: ofPages.some(({ lastUsedAt }) => lastUsedAt !== null),
    guide: 'backend',
    children: (
      <>
        <PageLink to="/keys">Create a key</PageLink> without capabilities for the backend of your pages: it can do what
        readers do, and no more. Put it where that backend reads its secrets.
        {ofPages.length > 0 &&
          ofPages.every(({ lastUsedAt }) => lastUsedAt === null) &&
          ' You have one, and it was not used yet.'}{' '}
        For pages without a backend, <PageLink to="/sites">add a site</PageLink> instead.
      </>
    ),
  }
}

function identityStep({ readers }: FirstStepsQuery): StepProps | null {
  if (readers == null) return null
  return {
    isDone: readers.nodes.length > 0,
    guide: 'rest',
    children: (
      <>
        <PageLink to="/identity">Sign an identity</PageLink> for the reader who is signed in on your site: the page has
        a snippet for your backend’s language.
      </>
    ),
  }
}

const widgetStep = (steps: FirstStepsQuery): StepProps => ({
  isDone: isBackendDone(steps),
  guide: 'widget',
  children: (
    <>
      Put the widget on a page, and write its first comment:
      <Code block mt="xs" {...WRITTEN}>
        {SNIPPET}
      </Code>
    </>
  ),
})

function originStep({ settings }: FirstStepsQuery): StepProps | null {
  if (settings == null) return null
  return {
    isDone: settings.allowedOrigins.length > 0,
    guide: 'stream',
    children: (
      <>
        <PageLink to="/settings">Allow the origin</PageLink> of your pages, such as https://news.example.com: then their
        browsers get new comments at once.
      </>
    ),
  }
}

function webhookStep(endpoints: readonly { state: string }[], hasDelivered: boolean | null): StepProps {
  const isVerified = endpoints.some(({ state }) => state === 'verified')
  return {
    isDone: isVerified && hasDelivered === true,
    guide: 'webhooks',
    children: (
      <>
        <PageLink to="/webhooks">Register an endpoint</PageLink> that gets your events.
        {isVerified
          ? ' It is verified: send it a test event, which it should answer with 2xx.'
          : endpoints.length > 0 && ' It is not verified yet.'}
      </>
    ),
  }
}

const PageLink = ({ to, children }: { to: string; children: ReactNode }) => (
  <Anchor component={Link} to={to} underline="always">
    {children}
  </Anchor>
)

function Step({ number, isDone, guide, children }: StepProps & { number: number }) {
  return (
    <List.Item
      styles={{ itemWrapper: { alignItems: 'flex-start' } }}
      icon={
        <ThemeIcon size={24} radius="xl" variant="default">
          {isDone ? <IconCheck size={14} aria-hidden /> : <Text size="xs">{number}</Text>}
        </ThemeIcon>
      }
    >
      {isDone && <VisuallyHidden>Done: </VisuallyHidden>}
      {children}{' '}
      <Anchor href={new URL(`../docs/guides/${guide}`, document.baseURI).href} size="sm" underline="always">
        Guide: {GUIDES[guide]}
      </Anchor>
    </List.Item>
  )
}
