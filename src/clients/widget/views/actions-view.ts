import { html, nothing } from 'lit/html.js'

import { openPanel, toggleReplies, write } from '../actions.ts'
import { now, type PageComment } from '../backend.ts'
import { button, named, nameOf } from './parts.ts'
import type { Thread, Panel } from '../thread.ts'

// A Map, because a type may be named like a property of every object.
const FACES = new Map(Object.entries({ like: '👍', love: '❤️', laugh: '😂', wow: '😮', sad: '😢', angry: '😠' }))

/** What can be done with a comment; of one that is gone, only its replies can be seen. */
export const actionsView = (thread: Thread, comment: PageComment, isGone: boolean): unknown =>
  html`<div part="actions" class="row actions">
    <div class="row tools">${isGone ? nothing : toolsView(thread, comment)} ${repliesButton(thread, comment)}</div>
    ${comment.status === 'approved' && !isGone ? facesView(thread, comment) : nothing}
  </div>`

/**
 * They have room for a face of each type, so that reactions of others move nothing that is being
 * read.
 */
function facesView(thread: Thread, comment: PageComment): unknown {
  const { settings, access, nodes } = thread
  const { reactionTypes } = settings
  const isOpen = access === 'open'
  const held = Object.keys(comment.reactionCounts)
  const types = nodes.order(comment.id, [...reactionTypes.slice(0, 1), ...held])
  return html`<div class="row faces" .style=${`--_types:${reactionTypes.length}`}>
    ${isOpen && types.length > 0 ? opener(thread, comment, 'react') : nothing}
    ${types.map((type) => (isOpen || held.includes(type) ? faceView(thread, comment, type) : nothing))}
  </div>`
}

/** The button that opens a panel below a comment. */
const opener = (thread: Thread, { id }: PageComment, kind: Panel['kind'], label?: string): unknown =>
  button(thread.words.text(kind), () => openPanel(thread, id, kind), {
    ...(label && { label }),
    opens: kind,
    isOpen: thread.panel?.id === id && thread.panel.kind === kind,
  })

function toolsView(thread: Thread, comment: PageComment): unknown {
  const { state, settings, words } = thread
  const { depth, createdAt } = comment
  const isOpen = thread.access === 'open'
  const isApproved = comment.status === 'approved'
  const isOwn = thread.isOwn(comment)
  const canStill = state.state !== 'archived'
  const isFresh = now() - Date.parse(createdAt) < settings.editWindowSeconds * 1000
  const opens = (isShown: boolean, kind: Panel['kind'], label?: string): unknown =>
    isShown ? opener(thread, comment, kind, label) : nothing
  return [
    opens(
      isOpen && isApproved && depth < settings.maxDepth,
      'reply',
      words.text('writeReply', { name: nameOf(thread, comment) }),
    ),
    opens(isOwn && isOpen && isFresh && comment.status !== 'rejected', 'edit'),
    opens(isOwn && canStill, 'delete'),
    opens(!isOwn && isApproved && canStill, 'report'),
  ]
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
  const face = (FACES.get(type) ?? named(thread, type)) + count
  const label = named(thread, type) + count
  if (!isPressed && !settings.reactionTypes.includes(type))
    return n ? html`<span part="chip" class="chip" role="img" aria-label=${label}>${face}</span>` : nothing
  const wish = { kind: 'react', id: comment.id }
  const react = (): Promise<void> => write(thread, wish, (writing) => writing.react(thread, comment, type))
  return button(face, react, { kind: 'chip', label, isPressed, isOff: state.state !== 'open' })
}

/** It stands in the row, so that news of replies takes no room of its own. */
function repliesButton(thread: Thread, comment: PageComment): unknown {
  const { words, state } = thread
  const { isOpen, isLoaded, ids, waiting } = state.list(comment.id)
  const n = isLoaded ? ids.length + waiting.length : comment.replyCount
  const toggle = (): unknown => toggleReplies(thread, comment)
  if (waiting.length > 0) return button(words.text('newReplies', { n: waiting.length }), toggle, { kind: 'news' })
  return n > 0
    ? button(isOpen ? words.text('hideReplies') : words.text('showReplies', { n }), toggle, { isOpen })
    : nothing
}
