/** What a page of `test/browser/components` shows: what React and Vue both know. */
export interface PageState {
  thread: Readonly<Record<string, unknown>> & { html?: string }
  /** How often the page's own state has changed. */
  draws: number
  isShown: boolean
  /** Answered by the page's issuer; null for a reader who is signed out. */
  token?: string | null
  /** The element of a list, with its properties. */
  list?: { name: 'EngagementCount' | 'EngagementLatest' | 'EngagementMostDiscussed'; props: Record<string, unknown> }
}

/** What the page keeps for its test. */
export interface Heard {
  heard: { name: string; draws: number; detail: unknown }[]
  /** Changes the state of the page. */
  show: (change: Partial<PageState>) => void
  state: PageState
}

export const page = globalThis as unknown as Heard
/** Set by the test before the page is loaded: whether the site opens a dialog of its own. */
export function hear(name: string, draws: number, event: Event): void {
  page.heard.push({ name, draws, detail: (event as CustomEvent).detail })
  if (name === 'sign-in') event.preventDefault()
}
