import { html, nothing } from 'lit/html.js'

import { loadMore } from '../actions.ts'
import { actionsView } from './actions-view.ts'
import type { PageComment } from '../backend.ts'
import { button, errorView, nameOf } from './parts.ts'
import type { Thread } from '../thread.ts'

/** Deeper replies are not indented further. */
const MAX_INDENT = 4
/** Longer comments are folded. */
const MAX_CHARACTERS = 1500
const MAX_LINES = 16

export function commentView(thread: Thread, id: string): unknown {
  const comment = thread.state.comments.get(id)
  if (!comment) return nothing
  return html`${articleView(thread, comment)} ${repliesView(thread, comment)}`
}

/** One template for all states, so that the panel stays as it is where the comment goes. */
function articleView(thread: Thread, comment: PageComment): unknown {
  const { words, errors, panel, linked, writing } = thread
  const { id, status } = comment
  const isGone = comment.body === null
  const kind = panel?.id === id ? panel.kind : undefined
  const isEdited = kind === 'edit' && !isGone
  const look = isGone ? 'gone' : ''
  return html`<article
    part="comment ${look}"
    class="${look} ${linked === id ? 'linked' : ''}"
    id="c-${id}"
    tabindex="-1"
    aria-labelledby=${isGone ? nothing : `a-${id}`}
  >
    ${isGone ? nothing : avatarView(nameOf(thread, comment), comment.author?.avatarUrl)}
    <div>
      ${isGone ? html`<p class="quiet">${words.text(status === 'deleted' ? 'deleted' : 'withheld')}</p>` : standingView(thread, comment, isEdited)}
      ${writing?.decisionView(thread, comment)} ${isEdited ? nothing : actionsView(thread, comment, isGone)}
      ${writing?.panelView(thread, comment)} ${kind === 'reply' ? nothing : errorView(errors.get(id))}
    </div>
  </article>`
}

function standingView(thread: Thread, comment: PageComment, isEdited: boolean): unknown {
  const { state, writing, unmuted } = thread
  const { id } = comment
  const isMuted = state.muted.has(comment.author?.id ?? '') && !unmuted.has(id)
  const muted = isMuted ? writing?.mutedView(thread, comment) : undefined
  return html`${headView(thread, comment)} ${isEdited ? nothing : (muted ?? bodyView(thread, comment))}`
}

/**
 * A colour of its own by the name. A class, because the policy of a page that has this in its HTML
 * allows no `style`.
 */
const hueOf = (name: string): string =>
  `h${Array.from(name).reduce((sum, one) => (sum * 31 + (one.codePointAt(0) ?? 0)) % 997, 0) % 7}`

/**
 * A letter, covered by the picture once that is loaded; a picture that fails to load is removed.
 */
function avatarView(name: string, url: string | null | undefined): unknown {
  function drop(this: HTMLImageElement): void {
    this.hidden = true
  }
  return html`<span part="avatar" class="avatar ${hueOf(name)}" aria-hidden="true">
    ${Array.from(name)[0]?.toUpperCase()}
    ${url ? html`<img src=${url} alt="" loading="lazy" referrerpolicy="no-referrer" @error=${drop} />` : nothing}
  </span>`
}

function headView(thread: Thread, comment: PageComment): unknown {
  const { words } = thread
  const { id, author, createdAt, editedAt, pinnedAt } = comment
  const name = html`<bdi>${nameOf(thread, comment)}</bdi>`
  const badge = (label: string, look = '', part = ''): unknown =>
    html`<span part="badge ${part}" class="badge ${look}" dir="auto">${label}</span>`
  const badges = thread.settings.badges?.filter((each) => author?.badges?.includes(each.id)) ?? []
  const url = author?.profileUrl
  return html`<p class="head">
    <span part="author" class="author" id="a-${id}"
      >${url ? html`<a href=${url} rel="ugc noopener">${name}</a>` : name}</span
    >
    ${badges.map((each) => badge(each.label, each.tone, `badge-${each.id}`))}
    ${thread.isOwn(comment) ? badge(words.text('you')) : nothing} ${pinnedAt ? badge(words.text('pinned')) : nothing}
    <span class="quiet" title=${words.full(editedAt ?? createdAt)}>
      <a href="${thread.address}#comment-${id}"><time datetime=${createdAt}>${words.ago(createdAt)}</time></a
      >${editedAt ? html` · ${editedView(thread, comment)}` : nothing}
    </span>
  </p>`
}

function editedView(thread: Thread, comment: PageComment): unknown {
  const text = thread.words.text('edited')
  return thread.settings.showEditHistory ? button(text, () => thread.showHistory(comment)) : text
}

function bodyView(thread: Thread, { id, body, bodyHtml }: PageComment): unknown {
  const { unfolded, words, nodes } = thread
  const text = body ?? ''
  const isLong = text.length > MAX_CHARACTERS || text.split('\n').length > MAX_LINES
  const isFolded = isLong && !unfolded.has(id)
  const turn = (): void => {
    if (!unfolded.delete(id)) unfolded.add(id)
    void thread.update()
  }
  // Content that gets the keyboard's focus must be visible.
  return html`<div part="body" class="body ${isFolded ? 'folded' : ''}" dir="auto" @focusin=${isFolded ? turn : null}>
      ${nodes.body(id, bodyHtml ?? '')}
    </div>
    ${isLong ? button(words.text(isFolded ? 'unfold' : 'fold'), turn, { isOpen: !isFolded }) : nothing}`
}

function repliesView(thread: Thread, { id, depth }: PageComment): unknown {
  const { state, words, errors, nodes } = thread
  const { ids, isOpen, hasMore } = state.list(id)
  const error = errorView(errors.get(`more-${id}`))
  if (!isOpen) return error
  const place = `replies ${depth < MAX_INDENT ? 'in' : ''} ${depth < 2 ? 'near' : ''}`
  return html`${nodes.list(id, place, ids, (one) => commentView(thread, one))}
  ${hasMore ? button(words.text('moreReplies'), () => loadMore(thread, id)) : nothing} ${error}`
}
