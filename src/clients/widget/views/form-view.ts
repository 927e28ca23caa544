import { html, nothing } from 'lit/html.js'

import { button, errorView } from './parts.ts'
import type { Thread } from '../thread.ts'

interface Form {
  /** The key of the draft. */
  place: string
  label: string
  /** The action of the send button. */
  send: () => void
  sends?: 'post' | 'save'
  cancel?: () => void
}

/** A text to write: kept until it is sent. Ctrl or Cmd with Enter sends it. */
export function formView(thread: Thread, { place, label, send, sends = 'post', cancel }: Form): unknown {
  const { storage, words, busy, errors } = thread
  const { text } = storage.draft(place)
  function write(this: HTMLTextAreaElement): void {
    storage.setDraft(place, this.value)
    void thread.update()
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    send()
  }
  const key = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
  }
  const buttons = html`<div class="row">
    ${button(words.text(sends), null, { kind: 'primary', type: 'submit', isOff: text.trim() === '' })}
    ${cancel ? button(words.text('cancel'), cancel) : nothing}
  </div>`
  return html`<form part="form" class="write" @submit=${submit}>
    <textarea
      part="textarea"
      dir="auto"
      rows="2"
      maxlength="10000"
      aria-label=${label}
      placeholder=${label}
      ?readonly=${busy.has(place)}
      .value=${text}
      @input=${write}
      @keydown=${key}
    ></textarea>
    ${errorView(errors.get(place))} ${text === '' && !cancel ? nothing : buttons}
  </form>`
}
