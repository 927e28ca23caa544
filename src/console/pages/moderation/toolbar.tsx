import { Button, Checkbox, Group, Paper, VisuallyHidden } from '@mantine/core'
import { useEffect, useRef } from 'react'

import { ApproveIcon, RejectIcon } from './icons.tsx'
import { type Said, SaidLast } from './said.tsx'
import type { Verb } from './undo.ts'

/** What gets the focus is scrolled below the bar, whose height changes with its content. */
function useScrollPadding() {
  const bar = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current } = bar
    const { style } = document.documentElement
    const observer = new ResizeObserver(([entry]) => {
      if (!(entry?.target instanceof HTMLElement)) return
      const { target } = entry
      style.scrollPaddingTop = `${parseFloat(getComputedStyle(target).top) + target.offsetHeight + 8}px`
    })
    if (current) observer.observe(current)
    return () => {
      observer.disconnect()
      style.scrollPaddingTop = ''
    }
  }, [])
  return bar
}

/** The last action, the actions on selected comments, and the number of new ones. */
export function Toolbar({
  said,
  waiting,
  selected,
  dealt,
  fresh,
  isBacklog,
  good,
  onSelectAll,
  onJudge,
  onUndo,
  onShowFresh,
  onClear,
}: {
  said: Said
  waiting: number
  selected: number
  dealt: number
  fresh: number
  isBacklog: boolean
  /** What says that comments are fine. */
  good: 'approve' | 'review'
  onSelectAll: (isAll: boolean) => void
  onJudge: (verb: Verb) => void
  onUndo: () => void
  onShowFresh: () => void
  onClear: () => void
}) {
  // A screen reader announces changes of an element that is there already. So the element stays
  // while it is empty, and is only hidden.
  const isBare = waiting + dealt + fresh === 0 && said.words === ''
  const bar = useScrollPadding()
  return (
    <Paper
      ref={bar}
      withBorder={!isBare}
      p={isBare ? 0 : 'xs'}
      role={isBare ? undefined : 'toolbar'}
      aria-label={isBare ? undefined : 'The queue'}
      style={{ position: 'sticky', top: 'calc(var(--app-shell-header-offset, 56px) + 4px)', zIndex: 10 }}
    >
      <Group gap="xs" mih={isBare ? 0 : 30}>
        {waiting > 0 && (
          <Checkbox
            label={selected === 0 ? `Select all ${waiting}` : `${selected} selected`}
            aria-label="Select all"
            checked={selected === waiting}
            indeterminate={selected > 0 && selected < waiting}
            onChange={({ currentTarget }) => onSelectAll(currentTarget.checked)}
          />
        )}
        {selected > 0 && (
          <>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<ApproveIcon />}
              aria-keyshortcuts="Shift+A"
              onClick={() => onJudge(good)}
            >
              {good === 'review' ? `Mark ${selected} as reviewed` : `Approve ${selected}`}
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<RejectIcon />}
              aria-keyshortcuts="Shift+R"
              onClick={() => onJudge('reject')}
            >
              Reject {selected}
            </Button>
          </>
        )}
        {fresh > 0 && (
          <Button size="compact-sm" variant="light" onClick={onShowFresh}>
            Show {fresh} {isBacklog ? 'more' : 'new'}
          </Button>
        )}
        {dealt > 0 && (
          <Button size="compact-sm" variant="subtle" onClick={onClear}>
            Clear {dealt} done
          </Button>
        )}
        <SaidLast said={said} onUndo={onUndo} />
      </Group>
      <VisuallyHidden component="output">{fresh > 0 && !isBacklog ? `${fresh} new` : ''}</VisuallyHidden>
    </Paper>
  )
}
