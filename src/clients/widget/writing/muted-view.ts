import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import { mute } from './actions.ts'
import { kit } from './kit.ts'

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
