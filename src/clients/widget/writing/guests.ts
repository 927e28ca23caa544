import type { Thread } from '../thread.ts'
import { kit } from './kit.ts'

/** People who confirm an e-mail address, in a file of its own: it comes with the first of them. */
let file: typeof import('./guest.ts') | undefined

/** Whether somebody writes who has not said who they are, and may be a guest. */
export const isNobody = ({ me, settings }: Thread): boolean => !me && settings.guests === true

async function withFile(thread: Thread, go: (loaded: typeof import('./guest.ts')) => void): Promise<void> {
  try {
    file ??= await import('./guest.ts')
    go(file)
  } catch {
    thread.errors.set(kit.NEW, thread.words.text('unloaded'))
  }
  void thread.update()
}

/** Asks for a name and an e-mail address, below the field of what they have written. */
export const askGuest = (thread: Thread, place: string = kit.NEW): Promise<void> =>
  withFile(thread, (loaded) => loaded.ask(thread, place))

/** Called when the page was loaded, and when its address may have changed. */
export function lookForGuest(thread: Thread): void {
  file?.carryDrafts(thread)
  const { guestLink, me, settings } = thread
  if (settings.guests && (guestLink || me?.id.startsWith('guest:')))
    void withFile(thread, (loaded) => loaded.begin(thread))
}

/** Whether they are asked who they are, or to open their mail, below this field. */
export const isAsked = (thread: Thread, place: string): boolean => file?.isAsked(thread, place) ?? false

export const guestView = (thread: Thread, place: string): unknown => file?.view(thread, place) ?? kit.nothing
