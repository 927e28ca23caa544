import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import { setPanel, typeOver } from './fields.ts'
import { escaped, quoteOf } from './markup.ts'
import { draftOf } from './mentions.ts'
import { selectedIn } from './selection.ts'

/** Begins a reply with what is selected of a comment, else with all of it; or goes on with one. */
export async function quote(thread: Thread, comment: PageComment): Promise<void> {
  const { shadowRoot: root, errors, panel } = thread
  const { id } = comment
  if (!root) return
  const selected = selectedIn(root, id)
  const text = selected === '' ? draftOf(comment).text : escaped(selected)
  thread.popup = null
  errors.delete(id)
  if (panel?.id !== id || panel.kind !== 'reply') setPanel(thread, { id, kind: 'reply' })
  await thread.update()
  const area = root.querySelector<HTMLTextAreaElement>(`#c-${id} .panel textarea`)
  if (!area) return
  const { value } = area
  const gap = value === '' ? '' : '\n\n'.slice(/\n{0,2}$/.exec(value)?.[0].length)
  typeOver(area, value.length, value.length, gap + quoteOf(text))
}
