/** The id of the comment that contains an element, or that the pane around it is about. */
export const commentAt = (element: Element | null): string | undefined =>
  commentOf(element?.closest<HTMLElement>('[data-comment], [data-about]')?.dataset)

const commentOf = (dataset: DOMStringMap | undefined): string | undefined => dataset?.comment ?? dataset?.about

interface Where {
  from?: string
  without?: ReadonlySet<string>
  /** Whether nothing is to be scrolled. */
  isStill?: boolean
}

/**
 * Moves the focus from the present comment to the next (or previous) one, or to the first. With
 * `isWaiting` it skips comments that are judged, a colleague's or in `without`, and goes back to
 * the nearest earlier one if none follows. Returns whether there was one.
 */
export function focusComment(
  by: 1 | -1,
  { isWaiting = false, from, without, isStill = false }: Where & { isWaiting?: boolean } = {},
): boolean {
  const comments = [...document.querySelectorAll<HTMLElement>('[data-comment]')]
  const here = from ?? commentAt(document.activeElement)
  const index = comments.findIndex(({ dataset }) => dataset.comment === here)
  const isOpen = ({ dataset: { comment = '', dealt, held } }: HTMLElement): boolean =>
    comment !== here && !(isWaiting && (dealt ?? held) !== undefined) && without?.has(comment) !== true
  const after = comments.slice(index + 1).filter(isOpen)
  const before = comments.slice(0, Math.max(index, 0)).filter(isOpen).toReversed()
  const target = by === 1 ? (after[0] ?? (isWaiting ? before[0] : undefined)) : before[0]
  target?.focus({ preventScroll: isStill })
  if (!isStill) target?.scrollIntoView({ block: 'nearest' })
  return target !== undefined
}

// Whether no comment was left: then the next one that arrives gets the focus.
let isAtEnd = false

/**
 * Moves the focus to the next waiting comment, now or as soon as there is one. Until then it is on
 * the list: the judged comment leaves.
 */
export function goOn(where: Where): void {
  isAtEnd = !focusComment(1, { isWaiting: true, ...where })
  if (isAtEnd) document.querySelector<HTMLElement>('[role=feed]')?.focus({ preventScroll: true })
}

/**
 * Moves the focus to a comment that has arrived, unless the moderator has gone elsewhere meanwhile.
 */
export function resumeAtEnd(): void {
  const at = document.activeElement
  const isElsewhere = at !== document.body && at?.role !== 'feed'
  if (isAtEnd) isAtEnd = !isElsewhere && !focusComment(1, { isWaiting: true })
}

/** Focuses the comment itself: a button inside that is disabled or removed would lose the focus. */
export const focusOn = (id: string | undefined, options?: FocusOptions): void =>
  [...document.querySelectorAll<HTMLElement>('[data-comment]')]
    .find(({ dataset }) => dataset.comment === id)
    ?.focus(options)

/**
 * Runs an action that removes the pressed button, and focuses a comment so that the focus is not
 * lost.
 */
export function thenFocus(act: () => void, id: string | undefined): void {
  act()
  // After the next drawing.
  requestAnimationFrame(() => focusOn(id))
}
