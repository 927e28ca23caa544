import { afterEach, beforeEach, expect, vi } from 'vitest'

type Listener = (event: { data: string }) => void

/** Listeners by name. */
class Target {
  readonly #listeners = new Map<string, Set<Listener>>()

  addEventListener(name: string, listener: Listener): void {
    this.#listeners.set(name, (this.#listeners.get(name) ?? new Set()).add(listener))
  }

  removeEventListener(name: string, listener: Listener): void {
    this.#listeners.get(name)?.delete(listener)
  }

  /** How many listen. */
  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0)
  }

  emit(name: string, data?: object): void {
    for (const listener of this.#listeners.get(name) ?? []) listener({ data: JSON.stringify(data) })
  }
}

/** An EventSource under the test's control, including behaviour that no browser has. */
export class FakeSource extends Target {
  readonly url: string
  readyState = 0

  constructor(url: string) {
    super()
    this.url = url
  }

  get lastEventId(): string | null {
    return new URL(this.url).searchParams.get('lastEventId')
  }

  connected(data: object = {}): void {
    this.readyState = 1
    this.emit('connected', { lastEventId: this.lastEventId, replayed: 0, complete: true, ...data })
  }

  event(seq: number, type = 'comment_created', discussionId?: string): void {
    this.emit(type, { type, seq, discussionId })
  }

  /** The connection is gone; the browser comes back by itself. */
  drop(): void {
    this.readyState = 0
    this.emit('error')
  }

  /** Another status than 200: the browser gives up. */
  refuse(): void {
    this.readyState = 2
    this.emit('error')
  }

  close(): void {
    this.readyState = 2
  }
}

export interface FakePage {
  window: Target
  document: Target & { visibilityState: string }
  /** Every EventSource that was made, the last one last. */
  sources: FakeSource[]
}

/** Puts a page in the place of the globals, until `vi.unstubAllGlobals()`. */
export function stubPage(): FakePage {
  const sources: FakeSource[] = []
  const window = new Target()
  const document = Object.assign(new Target(), {
    baseURI: 'https://www.example.com/article',
    visibilityState: 'visible',
  })
  vi.stubGlobal('window', window)
  vi.stubGlobal('document', document)
  vi.stubGlobal(
    'EventSource',
    class extends FakeSource {
      constructor(url: string) {
        super(url)
        sources.push(this)
      }
    },
  )
  return { window, document, sources }
}

/**
 * A page for each test, and a clock of its own. A test leaves no timer, no listener and no open
 * source.
 */
export function usePage(): FakePage {
  const page = {} as FakePage
  beforeEach(() => {
    vi.useFakeTimers()
    // What waits for a random time waits for the same in each run.
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    Object.assign(page, stubPage())
  })
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0)
    expect(page.window.listeners + page.document.listeners).toBe(0)
    expect(page.sources.every(({ readyState }) => readyState === 2)).toBe(true)
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })
  return page
}

/** The page's newest source, after the longest first pause. */
export async function nextSource({ sources }: FakePage): Promise<FakeSource> {
  await vi.advanceTimersByTimeAsync(1000)
  return sources.at(-1) as FakeSource
}
