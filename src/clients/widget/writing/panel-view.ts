import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import { post, remove, report, saveEdit } from './actions.ts'
import { closePanel, editOf, noteOf, obstacle } from './fields.ts'
import { formView, overView, sendButton, sendByKey } from './form-view.ts'
import css from './writing.css?inline'
import { addStyles, kit } from './kit.ts'
import { excess, MAX_NOTE } from './length.ts'
import { draftOf } from './mentions.ts'

/** What is open below a comment. Escape closes it. */
export function panelView(thread: Thread, comment: PageComment): unknown {
  const { panel } = thread
  if (panel?.id !== comment.id) return kit.nothing
  addStyles(thread, css)
  const leave = ({ key }: KeyboardEvent): void => {
    if (key === 'Escape') closePanel(thread, panel)
  }
  return kit.html`<div class="panel" @keydown=${leave}>${VIEWS[panel.kind](thread, comment)}</div>`
}

const VIEWS = { reply: replyView, edit: editView, delete: deleteView, report: reportView }

/** The form for a comment of the top level. */
export function newView(thread: Thread): unknown {
  addStyles(thread, css)
  return formView(thread, {
    place: kit.NEW,
    label: thread.words.text('write'),
    send: () => void post(thread, null),
    why: isEmpty(thread, kit.NEW) ? undefined : obstacle(thread, null),
  })
}

/** A refusal is shown beside its own words: an empty field needs none. */
const isEmpty = ({ storage }: Thread, place: string): boolean => storage.draft(place).text === ''

function replyView(thread: Thread, comment: PageComment): unknown {
  return formView(thread, {
    place: comment.id,
    label: thread.words.text('writeReply', { name: kit.nameOf(thread, comment) }),
    send: () => void post(thread, comment),
    cancel: () => closePanel(thread, thread.panel),
    why: obstacle(thread, comment),
  })
}

function editView(thread: Thread, comment: PageComment): unknown {
  return formView(thread, {
    place: editOf(comment.id),
    label: thread.words.text('edit'),
    sends: 'save',
    send: () => void saveEdit(thread, comment),
    below: theirsView(thread, comment),
    cancel: () => {
      thread.storage.setDraft(editOf(comment.id), '')
      closePanel(thread, thread.panel)
    },
    why: obstacle(thread, comment),
  })
}

/** The text that has come from another device since the edit began, to be read and copied. */
function theirsView({ storage, words }: Thread, comment: PageComment): unknown {
  const { html, nothing, errorView } = kit
  const { revision = comment.revision } = storage.draft(editOf(comment.id))
  if (revision === comment.revision || comment.body === null) return nothing
  const label = words.text('changed')
  return html`${errorView(label)}
    <textarea
      part="textarea"
      dir="auto"
      rows="2"
      readonly
      aria-label=${label}
      .value=${draftOf(comment).text}
    ></textarea>`
}

const cancelButton = (thread: Thread): unknown =>
  kit.button(thread.words.text('cancel'), () => closePanel(thread, thread.panel))

function deleteView(thread: Thread, comment: PageComment): unknown {
  const { html, button } = kit
  const { text } = thread.words
  return html`<p>${text('confirmDelete')}</p>
    <div class="row">
      ${button(text('delete'), () => remove(thread, comment), { kind: 'danger' })} ${cancelButton(thread)}
    </div>`
}

function reportView(thread: Thread, comment: PageComment): unknown {
  const { html, errorView } = kit
  const { storage, busy, access } = thread
  const { text } = thread.words
  const place = noteOf(comment.id)
  const note = storage.draft(place).text
  const over = excess(note.trim(), MAX_NOTE)
  // In a locked discussion comments can be reported still.
  const isRefused = access === 'archived' || access === 'reader_banned'
  const why = !thread.me || comment.body === null || isRefused ? obstacle(thread, comment) : undefined
  function write(this: HTMLTextAreaElement): void {
    storage.setDraft(place, this.value)
    void thread.update()
  }
  function submit(this: HTMLFormElement, event: Event): void {
    event.preventDefault()
    if (over === 0 && why === undefined) void report(thread, comment, this)
  }
  return html`<form part="form" class="write" @submit=${submit}>
    <label>
      ${text('reportWhy')}
      <select part="reason" name="reason" required>
        <option value="">${text('chooseReason')}</option>
        ${(['spam', 'abuse', 'off_topic', 'other'] as const).map((reason) => html`<option value=${reason}>${text(reason)}</option>`)}
      </select>
    </label>
    <textarea
      part="textarea"
      dir="auto"
      name="note"
      rows="2"
      aria-label=${text('note')}
      placeholder=${text('note')}
      aria-invalid=${over > 0}
      ?readonly=${busy.has(comment.id)}
      .value=${note}
      @input=${write}
      @keydown=${sendByKey}
    ></textarea>
    ${overView(thread, over)} ${errorView(why)}
    <div class="row">${sendButton(thread, text('send'), over > 0 || why !== undefined)} ${cancelButton(thread)}</div>
  </form>`
}
