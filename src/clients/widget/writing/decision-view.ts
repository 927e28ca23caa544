import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import { kit } from './kit.ts'

/**
 * That the reader's own comment waits or was rejected, and what a moderator has decided: the
 * reason, and a message.
 */
export function decisionView({ words }: Thread, { body, status, decision }: PageComment): unknown {
  const { html, nothing, notice, named } = kit
  if (status === 'approved') return nothing
  const state = body === null ? nothing : notice(words.text(status === 'pending' ? 'awaiting' : 'unpublished'))
  if (!decision) return state
  const { reason, message } = decision
  const why = reason === null ? nothing : words.text('reason', { name: named({ words }, reason) })
  if (reason === null && message === null) return state
  return html`${state} ${notice(html`${why} <span dir="auto">${message}</span>`)}`
}
