import type { Thread } from '../thread.ts'
import { kit } from './kit.ts'

interface Form {
  /** The key of the draft. */
  place: string
  label: string
  /** The action of the send button. */
  send: () => void
  sends?: 'post' | 'save'
  cancel?: () => void
}

/** Who can be mentioned, in a file of its own: it comes with the first `@` that somebody writes. */
let names: typeof import('./names.ts') | undefined

/** A text to write: kept until it is sent. Ctrl or Cmd with Enter sends it. */
export function formView(thread: Thread, { place, label, send, sends = 'post', cancel }: Form): unknown {
  const { html, nothing, button, errorView } = kit
  const { storage, words, busy, errors } = thread
  const { text } = storage.draft(place)
  function write(this: HTMLTextAreaElement): void {
    storage.setDraft(place, this.value)
    void thread.update()
    if (names || this.value.includes('@')) void findNames(this)
  }
  const findNames = async (area: HTMLTextAreaElement): Promise<void> => {
    names ??= await import('./names.ts').catch(() => undefined)
    await names?.look(thread, place, area)
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    send()
  }
  const key = (event: KeyboardEvent): void => {
    if (names?.press(thread, place, event)) return
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
      aria-autocomplete="list"
      aria-controls=${names?.listId(thread, place) ?? nothing}
      aria-activedescendant=${names?.activeId(thread, place) ?? nothing}
      ?readonly=${busy.has(place)}
      .value=${text}
      @input=${write}
      @keydown=${key}
      @blur=${() => names?.leave(thread, place)}
    ></textarea>
    ${names?.view(thread, place)} ${errorView(errors.get(place))} ${text === '' && !cancel ? nothing : buttons}
  </form>`
}
