import { useLocalStorage } from '@mantine/hooks'
import { useEffect, useRef } from 'react'

const UNTYPED = new Set(['checkbox', 'radio', 'button', 'submit', 'reset'])

/** Whether keys pressed there are text, or belong to a control. */
function isTaken(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !UNTYPED.has(target.type)
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true
  return target.closest('[role=dialog], [role=menu], [role=listbox]') !== null
}

const ARROWS: Readonly<Record<string, string>> = { ArrowDown: 'j', ArrowUp: 'k' }

/** The name of the pressed key. Arrows belong to the list only while the focus is on a comment. */
function keyOf(event: KeyboardEvent): string {
  const arrow = ARROWS[event.key]
  const isOnComment = event.target instanceof HTMLElement && event.target.dataset.comment !== undefined
  // Elsewhere it presses a button, or follows a link.
  if (event.key === 'Enter' && !isOnComment) return ''
  if (arrow !== undefined && isOnComment && !event.shiftKey) return arrow
  const isLetter = event.shiftKey && /^[a-z]$/i.test(event.key)
  return isLetter ? `shift+${event.key.toLowerCase()}` : event.key.toLowerCase()
}

/**
 * Runs a key's action while `isOn`, but never while the person types, or while a dialog is open.
 */
export function useShortcuts(isOn: boolean, actions: Readonly<Record<string, () => void>>): void {
  const current = useRef(actions)
  useEffect(() => {
    current.current = actions
  })
  useEffect(() => {
    if (!isOn) return
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTaken(event.target)) return
      // A pane that Escape closes has taken it.
      if (event.defaultPrevented) return
      if (document.querySelector('[role=dialog]') !== null) return
      const run = current.current[keyOf(event)]
      if (run === undefined) return
      event.preventDefault()
      run()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [isOn])
}

/** Whether single-key shortcuts are on, as chosen in this browser (WCAG 2.1.4). */
export const useShortcutsSetting = () =>
  useLocalStorage({ key: 'engagement-console-shortcuts', defaultValue: true, getInitialValueInEffect: false })
