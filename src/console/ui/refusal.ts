/** Puts the focus on the first field that is wrong, or on what is said of the form as a whole: its button has lost it. */
export function focusRefusal(form: HTMLFormElement | null): void {
  // After what is wrong has been drawn.
  requestAnimationFrame(() => {
    const field = form?.querySelector('.mantine-InputWrapper-error')?.closest('.mantine-InputWrapper-root')
    const wrong = field?.querySelector<HTMLElement>('input:not([type=hidden]), textarea')
    const target = wrong ?? form?.querySelector<HTMLElement>('[role=alert]')
    target?.scrollIntoView({ block: 'center' })
    target?.focus({ preventScroll: true })
  })
}
