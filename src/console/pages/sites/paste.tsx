import { Alert, Anchor, Code, Group, NativeSelect, Paper, Stack, Text } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'

import { Copy } from '../../ui/secret.tsx'
import { Section } from '../../ui/section.tsx'
import { type Site, WIDGET } from './service.ts'

/** The attributes of the widget that can be tried here, with their values. */
const OPTIONS = {
  theme: {
    label: 'Theme',
    values: { '': 'As the page', light: 'Light', dark: 'Dark', auto: "The reader's choice" },
  },
  lang: {
    label: 'Language',
    values: {
      '': 'As the page',
      ar: 'Arabic',
      de: 'German',
      en: 'English',
      es: 'Spanish',
      fr: 'French',
      it: 'Italian',
      ja: 'Japanese',
      nl: 'Dutch',
      pl: 'Polish',
      pt: 'Portuguese',
    },
  },
  sort: { label: 'Sort', values: { '': 'Newest first', oldest: 'Oldest first', top: 'Best first' } },
  replies: {
    label: 'Replies shown at once',
    values: { '': 'Up to 3', 2: 'Up to 2', 1: 'One', 0: 'None' },
  },
} as const

type Chosen = Readonly<Record<keyof typeof OPTIONS, string>>

const NONE: Chosen = { theme: '', lang: '', sort: '', replies: '' }

/** The lines for the pages, and the widget as they show it. */
export function PasteAndPreview({ site }: { site: Site }) {
  const [chosen, setChosen] = useState(NONE)
  const attributes = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== ''))
  const { publicKey } = site
  return (
    <>
      <Section title="Put it into your pages">
        <Lines label="The lines for your pages" text={linesOf(publicKey, attributes)}>
          Paste both lines where the comments are to be. The script may also stand in the head of the page.
        </Lines>
        <Lines label="The lines for signed-in readers" text={identityLines()}>
          {site.guests === 'email'
            ? 'Guests need only the lines above. For readers who have an account at your site,'
            : 'For readers to write,'}{' '}
          sign them in with your issuer, and give the widget its token:{' '}
          <Anchor href={new URL('../docs/guides/issuers', document.baseURI).href} inherit underline="always">
            Auth0, Firebase, Supabase, Clerk, Keycloak
          </Anchor>
          .
        </Lines>
      </Section>
      <Section title="Preview">
        <Group>
          {Object.entries(OPTIONS).map(([name, { label, values }]) => (
            <NativeSelect
              key={name}
              label={label}
              data={Object.entries(values)
                .map(([value, text]) => ({ value, label: text }))
                .sort(({ value: one }, { value: other }) => Number(one !== '') - Number(other !== ''))}
              value={chosen[name as keyof Chosen]}
              onChange={({ currentTarget }) => setChosen({ ...chosen, [name]: currentTarget.value })}
            />
          ))}
        </Group>
        <Preview site={site} attributes={attributes} />
      </Section>
    </>
  )
}

const linesOf = (publicKey: string, attributes: Readonly<Record<string, string>>): string => {
  const chosen = Object.entries({ site: publicKey, ...attributes }).map(([name, value]) => ` ${name}="${value}"`)
  return `<script type="module" src="${WIDGET}"></script>
<engagement-thread${chosen.join('')}></engagement-thread>`
}

const identityLines = (): string => `<script type="module">
  import '${WIDGET}'

  // A token of your issuer, or null while nobody is signed in. After a refusal, a new one.
  const identity = async (isRefused) => null
  document.querySelector('engagement-thread').setIdentity(identity)
</script>`

function Lines({ label, text, children }: { label: string; text: string; children: ReactNode }) {
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="flex-end">
        <Text size="sm" maw={640}>
          {children}
        </Text>
        <Copy value={text} />
      </Group>
      <Code block tabIndex={0} aria-label={label}>
        {text}
      </Code>
    </Stack>
  )
}

/** The widget, as a page of the site shows it. Here nobody is signed in. */
function Preview({
  site: { publicKey, origins },
  attributes,
}: {
  site: Site
  attributes: Readonly<Record<string, string>>
}) {
  const box = useRef<HTMLDivElement>(null)
  const [hasFailed, setFailed] = useState(false)
  const [discussion = ''] = origins.map((origin) => `${origin}/`)
  const given = JSON.stringify({ ...attributes, site: publicKey, discussion })
  useEffect(() => {
    import(/* @vite-ignore */ WIDGET).catch(() => setFailed(true))
  }, [])
  useEffect(() => {
    const thread = document.createElement('engagement-thread')
    // The console is no page of the site, and gets no ticket.
    thread.setAttribute('stream', 'off')
    for (const [name, value] of Object.entries(JSON.parse(given) as Record<string, string>))
      thread.setAttribute(name, value)
    box.current?.replaceChildren(thread)
    return () => thread.remove()
  }, [given])
  return (
    <>
      {hasFailed && <Alert color="red" title="The widget cannot be loaded. Load the page again." />}
      <Paper withBorder p="md" ref={box} />
    </>
  )
}
