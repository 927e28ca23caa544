// What only signed-in readers need: a file of its own, which their pages load.
import type { Panel, Popup, Thread, Writing } from '../thread.ts'
import { mute, open, react } from './actions.ts'
import { bellView, hearOfOwn, lookAtPending, ring } from './bell.ts'
import { decisionView } from './decision-view.ts'
import { goOn as sendWaiting } from './line.ts'
import { isHeld, keep } from './fields.ts'
import { askGuest, lookForGuest } from './guests.ts'
import { addStyles, type Kit, kit } from './kit.ts'
import { addOwn } from './own.ts'
import { newView, panelView } from './panel-view.ts'
import { hasMenu, popupView } from './popups.ts'
import { hearPosts } from './posted.ts'
import { forgetOldDrafts } from './old-drafts.ts'
import { rememberSelection } from './selection.ts'
import { strings } from '../strings/writing.ts'
import css from './writing.css?inline'
import type { Wish } from '../storage.ts'
import type { PageComment } from '../backend.ts'

export function writing(given: Kit): Writing {
  Object.assign(kit, given)
  Object.assign(kit.en, strings)
  const hear: Writing['hear'] = (thread, event, known) => {
    ring(thread, event, known)
    hearOfOwn(thread, event, known)
  }
  const loaded: Writing['loaded'] = (thread, before) => {
    // A reaction of theirs can be seen without a field.
    addStyles(thread, css)
    forgetOldDrafts(kit.PREFIX)
    for (const name of ['pointerdown', 'keydown']) thread.shadowRoot?.addEventListener(name, rememberSelection, true)
    lookForGuest(thread)
    hearPosts(thread)
    addOwn(thread)
    keep(thread, before)
    const { me, signedOut } = thread
    const { wish } = signedOut
    if (!me || !wish) return
    signedOut.wish = null
    void resume(thread, wish).catch(() => null)
  }
  const [look, views] = [lookAtPending, { bellView, decisionView, mutedView, newView, panelView, popupView }]
  const goOn: Writing['goOn'] = (thread) => {
    if (thread.phase === 'ready') lookForGuest(thread)
    sendWaiting(thread)
  }
  return { ...views, addOwn, askGuest, goOn, hasMenu, hear, isHeld, loaded, look, openPanel: open, react, resume }
}

/**
 * Opens what the reader wanted when they were asked to sign in: the box for a comment, or a panel
 * below a comment.
 */
async function resume(thread: Thread, { kind, id }: Wish): Promise<void> {
  if (kind === 'post') return thread.focusOn('textarea')
  if (await thread.reveal(id)) open(thread, id, kind as (Panel | Popup)['kind'])
}

/** In place of the text of a reader whom the signed-in reader has muted. */
function mutedView(thread: Thread, comment: PageComment): unknown {
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
