import { html, nothing } from 'lit/html.js'

import { loadMore, NEW, showNew, write } from '../actions.ts'
import { SORTS } from '../backend.ts'
import { commentView } from './comment-view.ts'
import { button, errorView, notice } from './parts.ts'
import { TOP } from '../state.ts'
import type { Thread } from '../thread.ts'

export function threadView(thread: Thread): unknown {
  const { phase, words, state, status, access, writing, isOffline } = thread
  const { text, lang, dir } = words
  if (phase !== 'ready' && !(access === 'unknown_page' && writing?.isHeld(thread)))
    return html`${phase === 'failed' ? nothing : html`<slot></slot>`}
      <div lang=${lang} dir=${dir}>${unreadyView(thread)}</div>`
  return html`<section part="thread" class="thread" lang=${lang} dir=${dir} aria-labelledby="title">
    <div part="header" class="header">
      <h2 part="title" id="title" tabindex="-1">
        ${text('title')} <span part="count" class="quiet">${words.number(state.count)}</span>
      </h2>
      ${state.count > 1 ? sortView(thread) : nothing} ${writing?.bellView(thread)}
    </div>
    <p class=${isOffline ? 'notice' : 'unseen'} role="status">${isOffline ? text('offline') : status}</p>
    ${access === 'open' ? nothing : notice(text(access))} ${writeView(thread)} ${listView(thread)}
  </section>`
}

function unreadyView(thread: Thread): unknown {
  const { phase, words, discussion } = thread
  if (phase === 'failed') return failedView(thread)
  if (phase === 'unknown_page') return notice(words.text(phase))
  // The server's own content is shown meanwhile.
  if (!discussion || thread.querySelector(':not(noscript)')) return nothing
  // Fills the window down to its bottom edge, so that content below the comments is out of view and
  // does not visibly move.
  const height = innerHeight - thread.getBoundingClientRect().top
  return html`<div class="wait" .style=${`block-size:${height}px`}></div>`
}

const quiet = (text: string): unknown => html`<p class="quiet">${text}</p>`

const failedView = (thread: Thread): unknown =>
  notice([
    thread.isOffline
      ? thread.words.text('offline')
      : (thread.errors.get('rate_limited') ?? thread.words.text('failed')),
    ' ',
    button(thread.words.text('retry'), () => thread.reload()),
  ])

function sortView(thread: Thread): unknown {
  const { text } = thread.words
  function choose(this: HTMLSelectElement): void {
    thread.sort = SORTS[this.selectedIndex] ?? 'newest'
  }
  return html`<label class="sort">
    <span class="quiet">${text('sort')}</span>
    <select part="sort" @change=${choose}>
      ${SORTS.map((sort) => html`<option .selected=${sort === thread.sort}>${text(sort)}</option>`)}
    </select>
  </label>`
}

function writeView(thread: Thread): unknown {
  const { words, errors, writing, access } = thread
  const me = thread.me ?? thread.settings.guests
  // A text that is there stays, whatever happens to the discussion and the sign-in.
  if (writing && ((me && access === 'open') || thread.storage.draft(NEW).text)) return writing.newView(thread)
  if (access !== 'open') return nothing
  const wish = { kind: 'post', id: '' }
  const begin = (): unknown => write(thread, wish, (loaded) => loaded.resume(thread, wish))
  return html`<div class="write">
    ${button(words.text(me ? 'write' : 'signIn'), begin, { kind: 'primary' })} ${errorView(errors.get(NEW))}
  </div>`
}

function listView(thread: Thread): unknown {
  const { state, words, errors, nodes } = thread
  const { ids, waiting, hasMore } = state.list(TOP)
  const n = waiting.length
  return html`<div class="new">
      ${n > 0 ? button(words.text('newComments', { n }), () => showNew(thread), { kind: 'primary' }) : nothing}
    </div>
    ${ids.length === 0 ? quiet(words.text('empty')) : nothing}
    ${nodes.list(TOP, 'list', ids, (id) => commentView(thread, id))}
    ${hasMore ? button(words.text('more'), () => loadMore(thread, TOP), { kind: 'more' }) : nothing}
    <div class="end"></div>
    ${errorView(errors.get(`more-${TOP}`))}`
}
