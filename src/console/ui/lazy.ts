import { type ComponentType, createElement, lazy } from 'react'

/** When this tab last reloaded itself, to prevent a loop. */
const RELOADED_AT = 'engagement-console-reloaded-at'
const PAUSE_MS = 60_000

/** How often the network has come back. */
let returns = 0
addEventListener('online', () => void returns++)

/**
 * A part of the console could not be loaded: no network, no service, or a newer release without
 * this file.
 */
export class PartNotLoaded extends Error {
  readonly #returns: number

  /** `returnsBefore` is how often the network had come back when the part was asked for. */
  constructor(returnsBefore: number, cause: unknown) {
    super('A part of the console could not be loaded', { cause })
    this.#returns = returnsBefore
  }

  /** Whether the network has come back since the part was asked for. */
  get isOutdated(): boolean {
    return this.#returns < returns
  }
}

// React remembers that a lazy component has failed. One that failed before this number grew is
// created again.
let attempt = 0

/** Allows failed parts to be loaded once more. */
export const loadAgain = (): void => void attempt++

/**
 * A component in a file of its own, loaded when it is first shown. Throws `PartNotLoaded` if that
 * fails.
 */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let part: ComponentType<Props> | undefined
  let failedAt: number | null = null
  const loadPart = async (): Promise<{ default: ComponentType<Props> }> => {
    const returnsBefore = returns
    try {
      return { default: await load() }
    } catch (error) {
      await reloadOnce()
      failedAt = attempt
      throw new PartNotLoaded(returnsBefore, error)
    }
  }
  return function Lazily(props) {
    if (part === undefined || (failedAt !== null && failedAt < attempt)) {
      failedAt = null
      part = lazy(loadPart)
    }
    return createElement(part, props)
  }
}

/**
 * After an upgrade, the open page refers to files that no longer exist; a reload fetches the new
 * page. Not if the service does not answer, because the browser's error page would replace the
 * console.
 */
async function reloadOnce(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(RELOADED_AT)) < PAUSE_MS || !(await isThere())) return
  sessionStorage.setItem(RELOADED_AT, String(Date.now()))
  location.reload()
  // The page is about to reload: show no error meanwhile.
  await new Promise(() => undefined)
}

async function isThere(): Promise<boolean> {
  try {
    return (await fetch(document.baseURI, { cache: 'no-store' })).ok
  } catch {
    return false
  }
}
