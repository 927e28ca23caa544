import { html, nothing } from 'lit/html.js'

import { open, toggleReplies, write } from '../actions.ts'
import type { PageComment } from '../backend.ts'
import { button, type Look, named, nameOf } from './parts.ts'
import type { Panel, Popup, Thread } from '../thread.ts'

// A Map, because a type may be named like a property of every object.
const FACES = new Map(Object.entries({ like: '👍', love: '❤️', laugh: '😂', wow: '😮', sad: '😢', angry: '😠' }))

/**
 * One row: what can be done with a comment; of one that is gone, only its replies can be seen. What
 * grows stands between what is fixed at the start and at the end, so that it moves nothing.
 */
export function actionsView(thread: Thread, comment: PageComment, isGone: boolean): unknown {
  const { access, settings, state, words, writing } = thread
  const isShown = comment.status === 'approved' && !isGone
  const isOpen = access === 'open' && isShown
  const label = words.text('writeReply', { name: nameOf(thread, comment) })
  const hasMenu = writing ? writing.hasMenu(thread, comment) : isShown && state.state !== 'archived'
  return html`<div part="actions" class="row actions" @keydown=${press}>
    ${isOpen && comment.depth < settings.maxDepth ? opener(thread, comment, 'reply', words.text('reply'), { label }) : nothing}
    ${isShown ? facesView(thread, comment, isOpen) : nothing} ${repliesButton(thread, comment)}
    ${hasMenu ? opener(thread, comment, 'menu', '···', { label: words.text('menu') }) : nothing}
    ${writing?.popupView(thread, comment)}
  </div>`
}

/** An arrow opens a menu, too. */
function press(event: KeyboardEvent): void {
  const { key, target } = event
  if (key !== 'ArrowDown' || !(target as Element).ariaHasPopup) return
  event.preventDefault()
  ;(target as HTMLElement).click()
}

/** The button that opens a panel below a comment, or a popup over it. */
function opener(thread: Thread, { id }: PageComment, kind: (Panel | Popup)['kind'], text: string, look: Look): unknown {
  const isOpen = [thread.panel, thread.popup].some((one) => one?.id === id && one.kind === kind)
  return button(text, () => open(thread, id, kind), { opens: kind, isOpen, ...look })
}

/**
 * The first type is offered on each comment, others once they are held, in the order of the
 * tenant's list. Those that the tenant has removed come last.
 */
function facesView(thread: Thread, comment: PageComment, isOpen: boolean): unknown {
  const { reactionTypes } = thread.settings
  const held = Object.keys(comment.reactionCounts)
  const seen = thread.nodes.seen(comment.id, [...reactionTypes.slice(0, 1), ...held])
  const types = [...new Set([...reactionTypes, ...seen.toSorted()])].filter((type) => seen.includes(type))
  return html`${isOpen && types.length > 0 ? opener(thread, comment, 'react', '☺\uFE0E+', { label: thread.words.text('react') }) : nothing}
    <div class="faces">
      ${types.map((type) => (isOpen || held.includes(type) ? faceView(thread, comment, type) : nothing))}
    </div>`
}

/**
 * A kind of reaction, and how often it is held. One that the tenant no longer has can be taken
 * back, and not be given.
 */
export function faceView(thread: Thread, comment: PageComment, type: string): unknown {
  const { words, state, settings } = thread
  const n = Object.hasOwn(comment.reactionCounts, type) ? comment.reactionCounts[type] : undefined
  const count = n === undefined ? '' : ` ${words.number(n)}`
  const isPressed = comment.viewerReaction === type
  const name = named(thread, type)
  const face = (FACES.get(type) ?? name) + count
  const label = name + count
  if (!isPressed && !settings.reactionTypes.includes(type))
    return n ? html`<span part="chip" class="chip" role="img" aria-label=${label}>${face}</span>` : nothing
  const wish = { kind: 'react', id: comment.id }
  const react = (): Promise<void> => write(thread, wish, (writing) => writing.react(thread, comment, type))
  return button(face, react, { kind: count ? 'chip' : 'face', label, isPressed, isOff: state.state !== 'open' })
}

/** It stands in the row, so that news of replies takes no room of its own. */
function repliesButton(thread: Thread, comment: PageComment): unknown {
  const { words, state } = thread
  const { isOpen, isLoaded, ids, waiting } = state.list(comment.id)
  const news = waiting.length
  const n = news || (isLoaded ? ids.length : comment.replyCount)
  if (n === 0) return nothing
  const isHidden = news > 0 || !isOpen
  const label = isHidden ? words.text(news > 0 ? 'newReplies' : 'showReplies', { n }) : words.text('hideReplies')
  const sign = isHidden ? `▾ ${words.number(n)}` : '▴'
  // A narrow row has room for the sign alone.
  const text = html`<span class="wide">${label}</span><span class="slim">${sign}</span>`
  const look: Look = news > 0 ? { kind: 'news' } : { isOpen }
  return button(text, () => toggleReplies(thread, comment), { label, ...look })
}
