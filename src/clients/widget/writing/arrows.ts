/** How far a key moves within a row or a list of buttons; the ends are joined. */
const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }

/** Moves the focus between buttons, from left to right as they are drawn. */
export function moveFocus(event: KeyboardEvent, dir: string, all: readonly HTMLElement[]): void {
  const { key } = event
  const isBack = key.startsWith('Arrow') && !/Up|Down/.test(key) && dir === 'rtl'
  const step = (STEPS[key] ?? 0) * (isBack ? -1 : 1)
  const at = all.findIndex((one) => one.matches(':focus'))
  const to = key === 'Home' ? 0 : key === 'End' ? -1 : step === 0 ? undefined : (at + step) % all.length
  if (to === undefined) return
  event.preventDefault()
  all.at(to)?.focus()
}
