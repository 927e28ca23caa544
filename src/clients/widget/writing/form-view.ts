import type { Thread } from '../thread.ts'
import { askGuest, guestView, isAsked, isNobody } from './guests.ts'
import { kit } from './kit.ts'
import { withCtrl } from './keys.ts'
import { excess, MAX_TEXT } from './length.ts'
import { isWaiting, lineView, takeBack } from './line.ts'
import { bodyOf } from './mentions.ts'

interface Form {
  /** The key of the draft. */
  place: string
  label: string
  /** The action of the send button. */
  send: () => void
  sends?: 'post' | 'save'
  cancel?: () => void
  /** Why it cannot be sent now. The text stays, to be copied. */
  why?: string | undefined
  /** What stands below the text. */
  below?: unknown
}

/** Who can be mentioned, in a file of its own: it comes with the first `@` that somebody writes. */
let names: typeof import('./names.ts') | undefined

/** The formatting bar, in a file of its own: it comes when somebody begins to write. */
let format: typeof import('./format.ts') | undefined
/** The places where somebody has begun to write: there the bar stays. */
const begun = new WeakMap<Thread, Set<string>>()

const hasBar = (thread: Thread): boolean => thread.getAttribute('formatting') !== 'off'

function begin(thread: Thread, place: string): void {
  const places = begun.get(thread) ?? new Set()
  if (places.has(place) || !hasBar(thread)) return
  begun.set(thread, places.add(place))
  void thread.update()
  // Without it, a text is written all the same.
  void import('./format.ts').then(
    (file) => {
      format = file
      void thread.update()
    },
    () => places.delete(place),
  )
}

/** A text to write: kept until it is sent. Ctrl or Cmd with Enter sends it. */
export function formView(thread: Thread, { place, label, send, sends = 'post', cancel, why, below }: Form): unknown {
  const { html, nothing, button, errorView } = kit
  const { storage, words, busy, errors } = thread
  const draft = storage.draft(place)
  const { text } = draft
  const over = excess(bodyOf(draft), MAX_TEXT)
  const isOff = text.trim() === '' || over > 0 || why !== undefined
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
    if (isOff) return
    if (isNobody(thread)) void askGuest(thread, place)
    else send()
  }
  const key = (event: KeyboardEvent): void => {
    if (names?.press(thread, place, event) || (hasBar(thread) && format?.press(event))) return
    sendByKey(event)
  }
  const waits = isWaiting(thread, place)
  const stop = (): void => {
    takeBack(thread, place)
    void thread.update()
  }
  // Their form has the button that goes on.
  const isGuestAsked = isAsked(thread, place)
  const buttons = html`<div class="row">
    ${isGuestAsked ? nothing : sendButton(thread, words.text(sends), isOff)}
    ${waits || cancel ? button(words.text('cancel'), waits ? stop : (cancel ?? null)) : nothing}
  </div>`
  // No combobox: ARIA in HTML allows a <textarea> no other role, and a text box no aria-expanded.
  return html`<form part="form" class="write" @submit=${submit}>
      <textarea
        part="textarea"
        dir="auto"
        rows="2"
        aria-label=${label}
        aria-invalid=${over > 0}
        placeholder=${label}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls=${names?.listId(thread, place) ?? nothing}
        aria-activedescendant=${names?.activeId(thread, place) ?? nothing}
        ?readonly=${waits || busy.has(place)}
        .value=${text}
        @focus=${() => begin(thread, place)}
        @input=${write}
        @keydown=${key}
        @blur=${() => names?.leave(thread, place)}
      ></textarea>
      ${names?.view(thread, place)}
      ${hasBar(thread) && begun.get(thread)?.has(place) ? format?.view(thread, place) : nothing} ${below}
      ${text === '' ? nothing : lineView(thread, place)} ${overView(thread, over)}
      ${errorView(why ?? errors.get(place))} ${text === '' && !cancel ? nothing : buttons}
    </form>
    ${guestView(thread, place)}`
}

/** Sends, or signs in again where the sign-in has ended. */
export function sendButton(thread: Thread, label: string, isOff: boolean): unknown {
  const { me, words } = thread
  const wish = { kind: 'post', id: '' }
  if (!me && !isNobody(thread))
    return kit.button(words.text('signIn'), () => kit.write(thread, wish, () => null), { kind: 'primary' })
  const { shown, keys } = withCtrl('Enter')
  return kit.html`<button
    type="submit"
    part="button primary"
    class="primary"
    title=${label + shown}
    aria-keyshortcuts=${keys}
    ?disabled=${isOff}
  >
    ${label}
  </button>`
}

/** Ctrl or Cmd with Enter sends a form. */
export function sendByKey(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, currentTarget } = event
  if (key !== 'Enter' || !(ctrlKey || metaKey)) return
  event.preventDefault()
  ;(currentTarget as HTMLTextAreaElement).form?.requestSubmit()
}

/** By how many characters the text is too long. */
export const overView = ({ words }: Thread, over: number): unknown =>
  over > 0
    ? kit.html`<p part="error" class="error" role="status">${words.text('tooLong', { n: over })}</p>`
    : kit.nothing
