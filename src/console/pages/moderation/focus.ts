/** The comment that an element is of. */
export const commentAt = (element: Element | null): string | undefined =>
  element?.closest<HTMLElement>('[data-comment]')?.dataset.comment

/**
 * Puts the focus on the next comment (or the one before) from the one that has it, or on the first
 * one. With `isWaiting` it skips comments that are judged or in `without`, and goes back to the
 * nearest one before where none comes after. Answers whether there was one to go to.
 */
export function focusComment(
  by: 1 | -1,
  { isWaiting = false, from, without }: { isWaiting?: boolean; from?: string; without?: ReadonlySet<string> } = {},
): boolean {
  const comments = [...document.querySelectorAll<HTMLElement>('[data-comment]')]
  const here = from ?? commentAt(document.activeElement)
  const index = comments.findIndex(({ dataset }) => dataset.comment === here)
  const isOpen = ({ dataset: { comment = '', dealt } }: HTMLElement): boolean =>
    comment !== here && !(isWaiting && dealt !== undefined) && without?.has(comment) !== true
  const after = comments.slice(index + 1).filter(isOpen)
  const before = comments.slice(0, Math.max(index, 0)).filter(isOpen).toReversed()
  const target = by === 1 ? (after[0] ?? (isWaiting ? before[0] : undefined)) : before[0]
  target?.focus()
  target?.scrollIntoView({ block: 'nearest' })
  return target !== undefined
}

// No comment was left to go on to. The first one that comes takes the focus.
let isAtEnd = false

/** Puts the focus on the next comment that waits, now or as soon as there is one. */
export function goOn(where: { from?: string; without?: ReadonlySet<string> }): void {
  isAtEnd = !focusComment(1, { isWaiting: true, ...where })
}

/** Goes on to a comment that has come, unless the moderator has gone elsewhere meanwhile. */
export function resumeAtEnd(isElsewhere: boolean, without: ReadonlySet<string>): void {
  if (isAtEnd) isAtEnd = !isElsewhere && !focusComment(1, { isWaiting: true, without })
}

/** Puts the focus on a comment: a button in it that is busy, or goes, would lose it. */
export const focusOn = (id: string | undefined): void =>
  [...document.querySelectorAll<HTMLElement>('[data-comment]')].find(({ dataset }) => dataset.comment === id)?.focus()

/**
 * Does what takes the pressed button away, and puts the focus on a comment instead of losing it.
 */
export function thenFocus(act: () => void, id: string | undefined): void {
  act()
  // Once it has been drawn.
  requestAnimationFrame(() => focusOn(id))
}
