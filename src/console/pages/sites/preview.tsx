import { Alert, Paper } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'

import { type Site, WIDGET } from './service.ts'

/** The widget, as a page of the site shows it. Here nobody is signed in. */
export function Preview({
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
