/** How many frames to wait for the error to be drawn: a second at 60 frames a second. */
const FRAMES = 60

/**
 * Focuses the first invalid field, or the message about the whole form, because its button has lost
 * the focus.
 */
export function focusRefusal(form: HTMLFormElement | null, frames = FRAMES): void {
  requestAnimationFrame(() => {
    const field = form?.querySelector('.mantine-InputWrapper-error')?.closest('.mantine-InputWrapper-root')
    const wrong = field?.querySelector<HTMLElement>('input:not([type=hidden]), textarea')
    const target = wrong ?? form?.querySelector<HTMLElement>('[role=alert]')
    if (target) {
      target.scrollIntoView({ block: 'center' })
      target.focus({ preventScroll: true })
    } else if (frames > 0) focusRefusal(form, frames - 1)
  })
}
