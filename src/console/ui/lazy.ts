import { type ComponentType, createElement, lazy } from 'react'

/** When this tab last reloaded itself, so that it does not do so again and again. */
const RELOADED_AT = 'engagement-console-reloaded-at'
const PAUSE_MS = 60_000

/**
 * A part of the console could not be loaded: no network, no service, or a newer release without
 * this file.
 */
export class PartNotLoaded extends Error {}

// React remembers for good that a lazy component has failed. One that failed before this number
// grew is made again.
let attempt = 0

/** Lets what has failed to load be loaded once more. */
export const loadAgain = (): void => void attempt++

/**
 * A component in a file of its own, loaded when it is first shown. Throws `PartNotLoaded` where
 * that fails.
 */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let part: ComponentType<Props> | undefined
  let failedAt: number | null = null
  const loadPart = async (): Promise<{ default: ComponentType<Props> }> => {
    try {
      return { default: await load() }
    } catch (error) {
      await reloadOnce()
      failedAt = attempt
      throw new PartNotLoaded('A part of the console could not be loaded', { cause: error })
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
 * After an upgrade the page that is open names files which are gone: a reload brings the new page.
 * Not where the service does not answer, since the browser's own error page would take the place of
 * the console.
 */
async function reloadOnce(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(RELOADED_AT)) < PAUSE_MS || !(await isThere())) return
  sessionStorage.setItem(RELOADED_AT, String(Date.now()))
  location.reload()
  // The page is about to go: no error is shown on the way.
  await new Promise(() => undefined)
}

async function isThere(): Promise<boolean> {
  try {
    return (await fetch(document.baseURI, { cache: 'no-store' })).ok
  } catch {
    return false
  }
}
