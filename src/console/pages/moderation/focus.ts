/** The comment that an element is of. */
export const commentAt = (element: Element | null): string | undefined =>
  element?.closest<HTMLElement>('[data-comment]')?.dataset.comment

/**
 * Puts the focus on the next comment (or the one before) from the one that has it, or the first one. Among those that
 * wait still, where `isWaiting`, and none of `without`; where there is none after it, the nearest before it.
 */
export function focusComment(
  by: 1 | -1,
  { isWaiting = false, from, without }: { isWaiting?: boolean; from?: string; without?: ReadonlySet<string> } = {},
): void {
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
}

/** Does what takes the pressed button away, and puts the focus on a comment instead of losing it. */
export function thenFocus(act: () => void, id: string | undefined): void {
  act()
  // Once it has been drawn.
  requestAnimationFrame(() => {
    const comments = [...document.querySelectorAll<HTMLElement>('[data-comment]')]
    comments.find(({ dataset }) => dataset.comment === id)?.focus()
  })
}
