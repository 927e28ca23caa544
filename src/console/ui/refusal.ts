/**
 * For how long what is wrong may take to be drawn: a second, where the screen draws 60 times in
 * one.
 */
const FRAMES = 60

/**
 * Puts the focus on the first field that is wrong, or on what is said of the form as a whole: its
 * button has lost it.
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
