import type { MouseEvent } from 'react'

/** A button of a comment that was pressed by the pointer: its key, and where it was. */
interface Press {
  key: string
  top: number
}

/** Whether a press of the present series, such as a double click, has judged a comment. */
let hasJudged = false

/** The button whose click is under way. */
let press: Press | null = null

/**
 * The further presses of a double click do nothing: another comment is under the pointer by then.
 * They would judge it, give it the focus, or select its text.
 */
export function dropDouble(event: MouseEvent): void {
  if (event.detail <= 1) hasJudged = false
  if (!hasJudged) return
  event.preventDefault()
  event.stopPropagation()
}

/** Notes the button of a click that is under way, unless a key has pressed it. */
export function beginPress(event: MouseEvent): void {
  const { target, detail } = event
  dropDouble(event)
  const button = target instanceof Element ? target.closest('button[aria-keyshortcuts]') : null
  const key = button?.getAttribute('aria-keyshortcuts')
  press = button == null || key == null || detail === 0 ? null : { key, top: button.getBoundingClientRect().top }
}

export function endPress(): void {
  press = null
}

/** The button that the pointer has just pressed; null for a key. */
export const currentPress = (): Press | null => press

const pixels = (written: string): number => parseFloat(written) || 0

/**
 * Brings the same button of the comment with the focus under the pointer, once the judged comment
 * has left: by scrolling, and at an end of the page by room around the list. The comment's
 * beginning stays in view.
 */
export function bringUnderPointer({ key, top }: Press): void {
  hasJudged = true
  const comment = document.activeElement?.closest<HTMLElement>('[data-comment]')
  const feed = comment?.closest<HTMLElement>('[role=feed]')
  if (comment == null || feed == null) return
  const { style } = feed
  const bring = (): void => {
    const button = comment.querySelector(`button[aria-keyshortcuts="${key}"]`)
    if (button === null) return
    const highest = pixels(document.documentElement.style.scrollPaddingTop)
    const wanted = button.getBoundingClientRect().top - top
    // A positive distance moves the comment up.
    let left = Math.min(wanted, comment.getBoundingClientRect().top - highest)
    const before = pixels(style.paddingTop)
    const spared = Math.max(0, Math.min(left, before))
    style.paddingTop = `${before - spared}px`
    left -= spared
    const from = scrollY
    scrollBy({ top: left, behavior: 'instant' })
    left -= scrollY - from
    if (left < 0) style.paddingTop = `${pixels(style.paddingTop) - left}px`
    if (left > 0) {
      style.paddingBottom = `${pixels(style.paddingBottom) + left}px`
      scrollBy({ top: left, behavior: 'instant' })
    }
  }
  // The first drawing may scroll by itself, to keep in its place what was below the judged comment.
  requestAnimationFrame(() => {
    bring()
    requestAnimationFrame(bring)
  })
}
