// Who can be mentioned: a list below the text, with the keys of ARIA's pattern of a combobox.
import css from './names.css?inline'
import type { Reader } from '../../browser/stream.ts'
import type { Thread } from '../thread.ts'
import { typeOver } from './fields.ts'
import { addStyles, kit } from './kit.ts'
import { mentionOf } from './mentions.ts'

/** The `@` of the word at the caret, and what follows it: at most two words of a name. */
const AT_CARET = /(?:^|[^\p{L}\p{N}@])@([^\s@]{0,30}(?: [^\s@]{1,30})?)$/u
const MOST = '8'
/** A pause in typing. */
const PAUSE_MS = 120

/** The list that is open, of at most one text. */
interface Names {
  thread: Thread
  place: string
  area: HTMLTextAreaElement
  /** What has been written after the `@`. */
  prefix: string
  readers: (Reader & { name: string })[]
  active: number
  /** What screen readers were told. */
  told: string
}

let open: Names | null = null
/** The number of the last look: answers of earlier ones are ignored. */
let looks = 0

const of = (thread: Thread, place: string): Names | null =>
  open?.thread === thread && open.place === place ? open : null
const idOf = (n: number): string => `name-${n}`

/** The id of the list, where it is open. */
export const listId = (thread: Thread, place: string): string | undefined => (of(thread, place) ? 'names' : undefined)
/** The id of the option that Enter would choose. */
export const activeId = (thread: Thread, place: string): string | undefined => {
  const names = of(thread, place)
  return names ? idOf(names.active) : undefined
}

/** Finds readers for the name that is being written at the caret. */
export async function look(thread: Thread, place: string, area: HTMLTextAreaElement): Promise<void> {
  const turn = ++looks
  const prefix = prefixIn(area)
  if (prefix === null || isChosen(thread, place, prefix)) return close()
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  if (turn !== looks) return
  const query = new URLSearchParams({ externalId: thread.discussion, limit: MOST, ...(prefix && { prefix }) })
  const found = await kit.ask<{ data: Reader[] }>(`${thread.backend}/authors?${query}`).catch(() => null)
  if (turn !== looks || prefixIn(area) !== prefix) return
  const readers = (found?.data ?? []).flatMap((reader) =>
    reader.name === null ? [] : [{ ...reader, name: reader.name }],
  )
  if (readers.length === 0) return close()
  addStyles(thread, css)
  const told = thread.words.text('found', { n: readers.length })
  open = { thread, place, area, prefix, readers, active: 0, told }
  thread.status = told
  void thread.update()
}

function prefixIn({ value, selectionStart, selectionEnd }: HTMLTextAreaElement): string | null {
  if (selectionStart !== selectionEnd) return null
  return AT_CARET.exec(value.slice(Math.max(0, selectionStart - 64), selectionStart))?.[1] ?? null
}

/** Whether the name has been chosen already, and the text goes on behind it. */
const isChosen = ({ storage }: Thread, place: string, prefix: string): boolean =>
  Object.keys(storage.draft(place).mentioned ?? {}).some((name) => prefix.startsWith(`${name} `))

function close(): void {
  if (!open) return
  const { thread, told } = open
  open = null
  if (thread.status === told) thread.status = ''
  void thread.update()
}

/** The focus has left the text. */
export function leave(thread: Thread, place: string): void {
  looks++
  if (of(thread, place)) close()
}

/** Returns whether the key was meant for the list. */
export function press(thread: Thread, place: string, event: KeyboardEvent): boolean {
  const names = of(thread, place)
  if (!names || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return false
  // The caret has moved.
  if (prefixIn(names.area) !== names.prefix) {
    leave(thread, place)
    return false
  }
  const { readers, active } = names
  const steps: Record<string, () => void> = {
    ArrowDown: () => (names.active = (active + 1) % readers.length),
    ArrowUp: () => (names.active = (active + readers.length - 1) % readers.length),
    Enter: () => choose(names, active),
    Tab: () => choose(names, active),
    Escape: close,
  }
  const step = event.shiftKey || !Object.hasOwn(steps, event.key) ? undefined : steps[event.key]
  if (!step) return false
  event.preventDefault()
  // Escape would close the panel as well.
  event.stopPropagation()
  step()
  void names.thread.update()
  return true
}

/** Writes the name in place of what was typed. */
function choose({ thread, place, area, prefix, readers }: Names, n: number): void {
  const reader = readers[n]
  if (!reader || prefixIn(area) !== prefix) return close()
  const { storage } = thread
  const { mentioned = {} } = storage.draft(place)
  // Two readers of one name: the second stands by id.
  const isTaken = (mentioned[reader.name] ?? reader.id) !== reader.id
  const end = area.selectionStart
  const written = isTaken ? `${mentionOf(reader.id)} ` : `@${reader.name} `
  typeOver(area, end - prefix.length - 1, end, written)
  storage.setDraft(place, area.value, isTaken ? mentioned : { ...mentioned, [reader.name]: reader.id })
  looks++
  close()
  area.focus()
}

/** The list below the text. */
export function view(thread: Thread, place: string): unknown {
  const { html, nothing } = kit
  const names = of(thread, place)
  if (!names) return nothing
  const { readers, active } = names
  // The text keeps the focus.
  const keepFocus = (event: Event): void => event.preventDefault()
  return html`<div class="names">
    <ul id="names" role="listbox" part="names" aria-label=${thread.words.text('mentionable')} @mousedown=${keepFocus}>
      ${readers.map(
        (reader, n) =>
          html`<li
            id=${idOf(n)}
            role="option"
            part="name"
            dir="auto"
            aria-selected=${n === active}
            @click=${() => choose(names, n)}
          >
            ${reader.name}
          </li>`,
      )}
    </ul>
  </div>`
}
