import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import { mute } from './actions.ts'
import { kit } from './kit.ts'

/**
 * That the reader's own comment waits or was rejected, and what a moderator has decided: the
 * reason, and a message.
 */
export function decisionView({ words }: Thread, { body, status, decision }: PageComment): unknown {
  const { html, nothing, notice, named } = kit
  if (status === 'approved') return nothing
  const state = body === null ? nothing : notice(words.text(status === 'pending' ? 'awaiting' : 'unpublished'))
  if (!decision) return state
  const { reason, message } = decision
  const why = reason === null ? nothing : words.text('reason', { name: named({ words }, reason) })
  if (reason === null && message === null) return state
  return html`${state} ${notice(html`${why} <span dir="auto">${message}</span>`)}`
}

/** In place of the text of a reader whom the signed-in reader has muted. */
export function mutedView(thread: Thread, comment: PageComment): unknown {
  const { html, button } = kit
  const { text } = thread.words
  const show = (): void => {
    thread.unmuted.add(comment.id)
    void thread.focusOn(`#c-${comment.id}`)
  }
  return html`<div class="row">
    <span class="quiet">${text('muted')}</span>
    ${button(text('show'), show)} ${button(text('unmute'), () => mute(thread, comment, false))}
  </div>`
}
