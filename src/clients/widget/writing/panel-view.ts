import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import { closePanel, editOf, mute, post, remove, report, saveEdit } from './actions.ts'
import { formView } from './form-view.ts'
import { kit } from './kit.ts'

/** What is open below a comment. Escape closes it. */
export function panelView(thread: Thread, comment: PageComment): unknown {
  const { panel } = thread
  if (panel?.id !== comment.id) return kit.nothing
  const leave = ({ key }: KeyboardEvent): void => {
    if (key === 'Escape') closePanel(thread)
  }
  return kit.html`<div class="panel" @keydown=${leave}>${VIEWS[panel.kind](thread, comment)}</div>`
}

const VIEWS = { reply: replyView, edit: editView, delete: deleteView, report: reportView, react: reactView }

/** The form for a comment of the top level. */
export const newView = (thread: Thread): unknown =>
  formView(thread, { place: kit.NEW, label: thread.words.text('write'), send: () => void post(thread, null) })

function replyView(thread: Thread, comment: PageComment): unknown {
  return formView(thread, {
    place: comment.id,
    label: thread.words.text('writeReply', { name: kit.nameOf(thread, comment) }),
    send: () => void post(thread, comment),
    cancel: () => closePanel(thread),
  })
}

function editView(thread: Thread, comment: PageComment): unknown {
  return formView(thread, {
    place: editOf(comment.id),
    label: thread.words.text('edit'),
    sends: 'save',
    send: () => void saveEdit(thread, comment),
    cancel: () => {
      thread.storage.setDraft(editOf(comment.id), '')
      closePanel(thread)
    },
  })
}

const cancelButton = (thread: Thread): unknown => kit.button(thread.words.text('cancel'), () => closePanel(thread))

function deleteView(thread: Thread, comment: PageComment): unknown {
  const { html, button } = kit
  const { text } = thread.words
  return html`<p>${text('confirmDelete')}</p>
    <div class="row">
      ${button(text('delete'), () => remove(thread, comment), { kind: 'danger' })} ${cancelButton(thread)}
    </div>`
}

function reportView(thread: Thread, comment: PageComment): unknown {
  const { html, button } = kit
  const { text } = thread.words
  function submit(this: HTMLFormElement, event: Event): void {
    event.preventDefault()
    void report(thread, comment, this)
  }
  return html`<form part="form" class="write" @submit=${submit}>
    <label>
      ${text('reportWhy')}
      <select part="reason" name="reason" required>
        <option value=""></option>
        ${(['spam', 'abuse', 'off_topic', 'other'] as const).map((reason) => html`<option value=${reason}>${text(reason)}</option>`)}
      </select>
    </label>
    <textarea
      part="textarea"
      dir="auto"
      name="note"
      rows="2"
      maxlength="1000"
      aria-label=${text('note')}
      placeholder=${text('note')}
    ></textarea>
    <div class="row">
      ${button(text('send'), null, { kind: 'primary', type: 'submit' })} ${cancelButton(thread)}
      ${comment.author ? button(text('mute', { name: kit.nameOf(thread, comment) }), () => mute(thread, comment, true)) : kit.nothing}
    </div>
  </form>`
}

function reactView(thread: Thread, comment: PageComment): unknown {
  return kit.html`<div class="row" role="group" aria-label=${thread.words.text('react')}>
    ${thread.settings.reactionTypes.map((type) => kit.faceView(thread, comment, type))}
  </div>`
}
