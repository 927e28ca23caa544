// The formatting bar below a text, and its preview: a file that comes once somebody writes.
import type { Thread } from '../thread.ts'
import { moveFocus } from './arrows.ts'
import css from './format.css?inline'
import { typeOver } from './fields.ts'
import { icon, LINK, LIST, QUOTE } from './icons.ts'
import { isMac, withCtrl } from './keys.ts'
import { addStyles, kit } from './kit.ts'
import { change, type Format } from './markup.ts'
import { bodyOf, MENTION } from './mentions.ts'

export { quote } from './quote.ts'

/** What a button shows, a text or an icon, and the key that does the same. */
const BUTTONS: readonly { format: Format; sign: string; key?: string }[] = [
  { format: 'bold', sign: 'B', key: 'B' },
  { format: 'italic', sign: 'I', key: 'I' },
  { format: 'link', sign: LINK, key: 'K' },
  { format: 'quote', sign: QUOTE },
  { format: 'code', sign: '</>' },
  { format: 'list', sign: LIST },
]

function apply(area: HTMLTextAreaElement, format: Format): void {
  const { value, selectionStart, selectionEnd } = area
  const made = change(format, { text: value, start: selectionStart, end: selectionEnd })
  typeOver(area, made.start, made.end, made.text)
  area.setSelectionRange(...made.select)
}

/** Returns whether the key was for a format: Ctrl, on a Mac Cmd, with its letter. */
export function press(event: KeyboardEvent): boolean {
  const { key, code, ctrlKey, metaKey, altKey, shiftKey, isComposing } = event
  if (isComposing || altKey || shiftKey || !(isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey)) return false
  // Of a keyboard without Latin letters, by the place of the key.
  const letter = (/^[a-z]$/i.test(key) ? key : code.replace('Key', '')).toUpperCase()
  const found = BUTTONS.find((each) => each.key === letter)
  if (!found) return false
  event.preventDefault()
  apply(event.currentTarget as HTMLTextAreaElement, found.format)
  return true
}

/** The preview that is open for a text. */
interface Preview {
  /** Of the text that it shows. */
  body: string
  html: string | null
  timer?: ReturnType<typeof setTimeout>
}

/** By their places. */
const previews = new WeakMap<Thread, Map<string, Preview>>()
const previewOf = (thread: Thread, place: string): Preview | undefined => previews.get(thread)?.get(place)
const placeOf = (place: string): string => `preview-${place}`

/** A pause in typing. */
const PAUSE_MS = 500

/** The Markdown to show: mentions as the names that they will show, which notify nobody. */
function shownBody(thread: Thread, place: string): string {
  const draft = thread.storage.draft(place)
  const names = new Map(Object.entries(draft.mentioned ?? {}).map(([name, id]) => [id, name]))
  return bodyOf(draft)
    .split(MENTION)
    .map((part, n) => {
      const name = n === 0 ? undefined : names.get(part.slice(0, ID_LENGTH))
      if (n === 0) return part
      if (name === undefined) return MENTION + part
      return `@${name.replace(/[!-/:-@[-`{-~]/g, String.raw`\$&`)}${part.slice(ID_LENGTH + 1)}`
    })
    .join('')
}

const ID_LENGTH = 36

async function refresh(thread: Thread, place: string): Promise<void> {
  const preview = previewOf(thread, place)
  const body = shownBody(thread, place)
  if (!preview || preview.body === body || thread.busy.has(placeOf(place))) return
  await kit.act(thread, placeOf(place), 'preview', async () => {
    preview.body = body
    preview.html =
      body.trim() === ''
        ? ''
        : (await kit.ask<{ bodyHtml: string }>(`${thread.backend}/comment-preview`, 'POST', { body })).bodyHtml
  })
  // It may have been written on meanwhile. What has failed is tried again with the next letter.
  later(thread, place)
}

function later(thread: Thread, place: string): void {
  const preview = previewOf(thread, place)
  if (!preview || preview.body === shownBody(thread, place)) return
  clearTimeout(preview.timer)
  preview.timer = setTimeout(() => void refresh(thread, place), PAUSE_MS)
}

function toggle(thread: Thread, place: string): void {
  const all = previews.get(thread) ?? new Map<string, Preview>()
  previews.set(thread, all)
  const open = all.get(place)
  clearTimeout(open?.timer)
  thread.errors.delete(placeOf(place))
  if (!all.delete(place)) {
    all.set(place, { body: '', html: null })
    void refresh(thread, place)
  }
  void thread.update()
}

/** The bar, and the preview where it is open. */
export function view(thread: Thread, place: string): unknown {
  const { html, nothing, errorView } = kit
  const { words, me, errors } = thread
  addStyles(thread, css)
  later(thread, place)
  const preview = previewOf(thread, place)
  const all = (bar: Element): HTMLElement[] => [...bar.querySelectorAll<HTMLElement>('button')]
  // One stop of the Tab key: the button that had the focus last.
  const enter = ({ currentTarget, target }: Event): void => {
    for (const one of all(currentTarget as Element)) one.tabIndex = one.contains(target as Node) ? 0 : -1
  }
  const move = (event: KeyboardEvent): void => moveFocus(event, words.dir, all(event.currentTarget as Element))
  // The text keeps the focus and its selection.
  const keepFocus = (event: Event): void => event.preventDefault()
  const choose = (format: Format) => (event: Event) => {
    const area = (event.currentTarget as Element).closest('form')?.querySelector('textarea')
    if (area) apply(area, format)
  }
  const bar = html`<div
    part="format"
    class="format"
    role="toolbar"
    aria-label=${words.text('formatting')}
    @focusin=${enter}
    @keydown=${move}
    @mousedown=${keepFocus}
  >
    ${BUTTONS.map(({ format, sign, key }, n) => {
      const { shown, keys } = key === undefined ? { shown: '', keys: nothing } : withCtrl(key)
      return html`<button
        type="button"
        part="button format-${format}"
        class="plain ${format}"
        tabindex=${n === 0 ? 0 : -1}
        title=${words.text(format) + shown}
        aria-label=${words.text(format)}
        aria-keyshortcuts=${keys}
        @click=${choose(format)}
      >
        ${sign.length > 3 ? icon(kit, sign) : html`<span aria-hidden="true">${sign}</span>`}
      </button>`
    })}
    ${me ? html`<button type="button" part="button preview" class="plain" tabindex="-1" aria-expanded=${preview !== undefined} @click=${() => toggle(thread, place)}>${words.text('preview')}</button>` : nothing}
  </div>`
  if (!preview || !me) return bar
  return html`${bar} ${errorView(errors.get(placeOf(place)))}
  ${
    preview.html === null
      ? nothing
      : html`<div part="preview" class="preview body" role="group" aria-label=${words.text('preview')} dir="auto">
          ${thread.nodes.body(placeOf(place), preview.html)}
        </div>`
  }`
}
