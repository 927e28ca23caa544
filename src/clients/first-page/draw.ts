// The first page of a thread for a server-rendered page, drawn by the widget's own views.
import type { DrawElement, DrawFirstPage, Drawing } from '../backend/drawing.ts'
import { type First, type Sort, SORTS } from '../widget/backend.ts'
import { ThreadState, TOP } from '../widget/state.ts'
import { loadStrings, wordsFor, type Words } from '../widget/words.ts'
import type { Thread } from '../widget/thread.ts'
import { threadView } from '../widget/views/thread-view.ts'
import css from '../widget/widget.css?inline'
import { contentOf } from './content.ts'
import { jsonLd } from './json-ld.ts'
import { escaped, htmlOf, Markup } from './template.ts'

/**
 * Of the first drawing alone. A rule of the page that keeps room for the widget ends; without
 * JavaScript, what needs it does not show.
 */
const FIRST_CSS =
  ':host{animation:none!important}@media (scripting:none){button,.sort,.write{display:none!important}}noscript a{color:inherit}'

export const drawElement: DrawElement = (drawing) => elementHtml(drawing, '')

export const drawFirstPage: DrawFirstPage = async (first, drawing) => {
  await loadStrings(drawing.lang)
  const data = JSON.parse(first) as First
  const { lang, strings, nonce, hrefOf } = drawing
  const words = wordsFor(lang, strings)
  const thread = threadFor(data, drawing, words)
  const cursor = data.comments?.nextCursor ?? null
  const next = hrefOf !== null && cursor !== null ? escaped(hrefOf(cursor)) : null
  const style = css + FIRST_CSS
  const html = elementHtml(
    drawing,
    `<template shadowrootmode="open"><style${nonce === null ? '' : ` nonce="${escaped(nonce)}"`}>${style}</style>` +
      htmlOf(threadView(thread)) +
      (next === null ? '' : `<noscript><a href="${next}" rel="next">${escaped(words.text('more'))}</a></noscript>`) +
      // Of a later page the newer comments are missing: the widget loads the first one instead.
      (drawing.isLater ? '' : `<script type="application/json">${jsonInHtml(data)}</script>`) +
      '</template>',
  )
  const posting = jsonLd(data, drawing, (comment) => comment.author?.name ?? words.text('anonymous'))
  const head =
    (next === null ? '' : `<link rel="next" href="${next}">`) +
    (posting === null ? '' : `<script type="application/ld+json">${jsonInHtml(posting)}</script>`)
  return { html, head }
}

/** JSON that ends no script and begins no comment within it. */
const jsonInHtml = (value: object): string =>
  JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)

function elementHtml(drawing: Drawing, content: string): string {
  const { externalId, basePath, sort, pageSize, lang, attributes, signedIn } = drawing
  const all = {
    ...attributes,
    discussion: externalId,
    backend: basePath,
    sort,
    'page-size': pageSize,
    lang,
    ...(signedIn !== null && { 'signed-in': signedIn ? 'yes' : 'no' }),
  }
  const written = Object.entries(all).map(([name, value]) => ` ${name}="${escaped(value)}"`)
  return `<engagement-thread${written.join('')}>${content}</engagement-thread>`
}

/** The signed-out reader's thread, as far as views read it. */
function threadFor({ settings, discussion, comments }: First, { sort, posting }: Drawing, words: Words): Thread {
  const state = new ThreadState(SORTS.find((each) => each === sort) ?? 'newest')
  if (discussion && comments) {
    state.addPage(TOP, comments)
    state.state = discussion.state
    state.exactCount = discussion.commentCount
  }
  const drawn = {
    phase: 'ready',
    access: state.state,
    sort: state.sort satisfies Sort,
    address: (posting.url ?? '').split('#')[0] ?? '',
    words: withDates(words),
    settings,
    state,
    status: '',
    me: null,
    writing: null,
    panel: null,
    popup: null,
    errors: new Map<string, unknown>(),
    unfolded: new Set<string>(),
    unmuted: new Set<string>(),
    linked: undefined,
    isOwn: () => false,
  } satisfies Partial<Thread>
  // Views read no more of it; what their handlers use is never called here.
  return { ...drawn, nodes } as unknown as Thread
}

/** In place of the widget's nodes (`nodes/nodes.ts`). */
const nodes = {
  list: (_name: string, className: string, ids: readonly string[], view: (id: string) => unknown): Markup =>
    new Markup(`<ol class="${className}" part="list">${ids.map((id) => `<li>${htmlOf(view(id))}</li>`).join('')}</ol>`),
  seen: (_id: string, names: readonly string[]): string[] => [...new Set(names)],
  body: (_id: string, bodyHtml: string): Markup => new Markup(`<div>${contentOf(bodyHtml).html}</div>`),
}

/** Dates, for which neither the hour nor the zone of the reader matters. */
function withDates(words: Words): Words {
  const date = new Intl.DateTimeFormat(words.lang, { dateStyle: 'medium', timeZone: 'UTC' })
  const full = new Intl.DateTimeFormat(words.lang, { dateStyle: 'medium', timeStyle: 'long', timeZone: 'UTC' })
  return { ...words, ago: (iso) => date.format(new Date(iso)), full: (iso) => full.format(new Date(iso)) }
}
