import { CloseButton, Group, Paper, Text, Title } from '@mantine/core'
import { useDebouncedValue, useMediaQuery } from '@mantine/hooks'
import { type KeyboardEvent, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'

import { Boundary } from '../../../ui/boundary.tsx'
import { Dialog } from '../../../ui/inputs/dialog.tsx'
import { lazily } from '../../../ui/lazy.ts'
import { textOf } from '../../../ui/mentions.ts'
import { Empty, Loading } from '../../../ui/states.tsx'
import { WRITTEN } from '../../../ui/written.ts'
import { commentAt, focusOn } from '../focus.ts'
import type { Entry } from '../entries.ts'

const ContextPane = lazily(async () => (await import('./context-pane.tsx')).ContextPane)

/** How long a comment must be selected before its context is asked for. */
const REST_MS = 200

/** How it was opened, and whether it takes the focus. */
export interface Opened {
  hasFocus: boolean
}

/** The id of the comment that had the focus last. */
function useSelected(): string | undefined {
  const [selected, setSelected] = useState(() => commentAt(document.activeElement))
  useEffect(() => {
    const follow = ({ target }: FocusEvent): void => {
      const id = target instanceof Element ? commentAt(target) : undefined
      if (id !== undefined) setSelected(id)
    }
    document.addEventListener('focusin', follow)
    return () => document.removeEventListener('focusin', follow)
  }, [])
  return selected
}

/**
 * The context of the selected comment: beside the list, or above it where there is no room.
 * `opened` is another object each time that it is opened.
 */
export function Beside({
  entries,
  opened,
  onClose,
}: {
  entries: readonly Entry[]
  opened: Opened
  onClose: () => void
}) {
  const isWide = useMediaQuery('(min-width: 62em)', undefined, { getInitialValueInEffect: false })
  const selected = useSelected()
  const [resting] = useDebouncedValue(selected, REST_MS)
  const [first] = useState(selected)
  const shown = resting ?? first
  const found = entries.find(({ item }) => item.comment.id === shown)
  // A comment that was just judged has left the list, and the selection has not come to rest yet.
  const [last, setLast] = useState(found)
  if (found !== undefined && found !== last) setLast(found)
  const entry = found ?? (selected === shown ? undefined : last)
  const content = (
    <Boundary resetKeys={[shown]}>
      {entry === undefined ? (
        <Empty title="No comment is selected">Go to one: press j.</Empty>
      ) : (
        <Suspense fallback={<Loading of="the context" />}>
          <ContextPane comment={entry.item.comment} />
        </Suspense>
      )}
    </Boundary>
  )
  if (!isWide) {
    return (
      <Dialog title="Context" size="xl" onClose={onClose}>
        {/* It covers the list. */}
        {entry !== undefined && (
          <Text size="sm" mb="sm" lineClamp={4} {...WRITTEN}>
            {textOf(entry.item.comment)}
          </Text>
        )}
        {content}
      </Dialog>
    )
  }
  return (
    <Side about={shown} opened={opened} onClose={onClose}>
      {content}
    </Side>
  )
}

function Side({
  about,
  opened,
  onClose,
  children,
}: {
  about: string | undefined
  opened: Opened
  onClose: () => void
  children: ReactNode
}) {
  const ref = useRef<HTMLElement>(null)
  useEffect(() => {
    if (opened.hasFocus) ref.current?.focus()
  }, [opened])
  const close = (): void => {
    onClose()
    focusOn(about)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    close()
  }
  return (
    <Paper
      ref={ref}
      component="section"
      aria-label="Context"
      withBorder
      p="md"
      tabIndex={-1}
      // Keys act on the comment that it is about.
      data-about={about}
      onKeyDown={onKeyDown}
      className="mantine-focus-auto"
      style={{
        flex: '0 0 380px',
        maxHeight: 'calc(100dvh - var(--app-shell-header-offset, 56px) - 16px)',
        overflowY: 'auto',
        position: 'sticky',
        top: 'calc(var(--app-shell-header-offset, 56px) + 4px)',
      }}
    >
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h5">
          Context
        </Title>
        <CloseButton aria-label="Close the context" onClick={close} />
      </Group>
      {children}
    </Paper>
  )
}
