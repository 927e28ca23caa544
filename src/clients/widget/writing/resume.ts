import type { Wish } from '../storage.ts'
import type { Panel, Popup, Thread } from '../thread.ts'
import { open } from './actions.ts'

/**
 * Opens what the reader wanted when they were asked to sign in: the box for a comment, or a panel
 * below a comment.
 */
export async function resume(thread: Thread, { kind, id }: Wish): Promise<void> {
  if (kind === 'post') return thread.focusOn('textarea')
  if (await thread.reveal(id)) open(thread, id, kind as (Panel | Popup)['kind'])
}
