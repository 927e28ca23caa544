import { posix } from 'node:path'

import { addressOf, escapeHtml, linkFrom, type Rendered, titleOf } from './markdown.ts'
import { entriesFor, type Entry, neighboursOf, type Part, PARTS, partOf } from './navigation.ts'

/** The files that pages load, as paths below `/docs/`. */
export interface Assets {
  style: string
  theme: string
  script: string
  search: string
  index: string
}

const hrefTo = (from: string, to: string): string =>
  escapeHtml(linkFrom(from, posix.relative(posix.dirname(from), to)) ?? '')

function partsFor(current: Part | undefined, up: string): string {
  const links = PARTS.map((part) => {
    const mark = part === current ? ' aria-current="true"' : ''
    return `<a href="${up}${escapeHtml(addressOf(part.index))}"${mark}>${part.label}</a>`
  })
  return `<nav class="parts" aria-label="Documentation">${links.join('')}</nav>`
}

function listOf(name: string, entries: readonly Entry[]): string {
  const items = entries.map((entry) => {
    const mark = entry.name === name ? ' aria-current="page"' : ''
    const link = `<a href="${hrefTo(name, entry.name)}"${mark}>${escapeHtml(entry.title)}</a>`
    return `<li>${link}${entry.within.length === 0 ? '' : listOf(name, entry.within)}</li>`
  })
  return `<ul>${items.join('')}</ul>`
}

/** The list of pages, which a phone shows as a menu. */
function pagesFor(name: string, part: Part): string {
  const groups = entriesFor(name, part).map(({ title, entries }) => {
    const heading = title === null ? '' : `<p>${escapeHtml(title)}</p>`
    return `${heading}${listOf(name, entries)}`
  })
  return `<nav class="pages" aria-label="Pages of ${part.label}">${groups.join('\n')}</nav>`
}

/** Longer pages have a search, and a list of their own. */
const MOST_HEADINGS = 40

function contentsOf({ sections }: Rendered): string {
  const headings = sections.filter(({ level }) => level === 2 || level === 3)
  const shown = headings.length > MOST_HEADINGS ? headings.filter(({ level }) => level === 2) : headings
  if (shown.length < 2 || shown.length > MOST_HEADINGS) return ''
  const items = shown.map(
    ({ level, anchor, text }) => `<li class="level-${level}"><a href="#${anchor}">${escapeHtml(text)}</a></li>`,
  )
  return `<nav class="contents" aria-labelledby="contents"><p id="contents">On this page</p><ul>${items.join('')}</ul></nav>`
}

function footerOf(name: string): string {
  const { previous, next } = neighboursOf(name)
  const link = (page: string | undefined, rel: string, label: string): string =>
    page === undefined
      ? ''
      : `<a href="${hrefTo(name, page)}" rel="${rel}"><small>${label}</small> ${escapeHtml(titleOf(page))}</a>`
  const links = link(previous, 'prev', 'Previous') + link(next, 'next', 'Next')
  const steps = links && `<nav class="steps" aria-label="Previous and next page">${links}</nav>\n`
  const source = `<a href="${posix.basename(name)}">This page as Markdown</a>`
  return `<footer>${steps}<div class="choices">${source}</div></footer>`
}

interface Frame {
  title: string
  /** Leads to the folder of the documentation, and ends with a slash or is empty. */
  up: string
  head?: string
  parts: string
  /** Whether there is a list of pages for the button of a phone. */
  hasMenu: boolean
  body: string
}

const frame = (
  { style, theme, script, search, index }: Assets,
  { title, up, head = '', parts, hasMenu, body }: Frame,
) =>
  `<!doctype html>
<html lang="en" data-docs="${up || './'}" data-search="${up}${search}" data-index="${up}${index}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${up}assets/icon.svg" type="image/svg+xml">
${head}<link rel="stylesheet" href="${up}${style}">
<script src="${up}${theme}"></script>
<script src="${up}${script}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<div class="bar">
${hasMenu ? '<button type="button" class="menu" popovertarget="menu">Menu</button>\n' : ''}<a href="${up || './'}" class="name"><img src="${up}assets/icon.svg" alt="" width="24" height="24">Engagement Service</a>
<span class="tools"></span>
</div>
${parts}
</header>
${body}
</body>
</html>
`

/** A page of the documentation. */
export function pageOf(name: string, rendered: Rendered, assets: Assets): string {
  const up = '../'.repeat(name.split('/').length - 1)
  const part = partOf(name)
  const title = titleOf(name)
  const pages = part === undefined ? '' : `<div id="menu" popover>${pagesFor(name, part)}</div>\n`
  return frame(assets, {
    title: name === 'README.md' ? title : `${title} - Engagement Service`,
    up,
    head: `<link rel="alternate" type="text/markdown" href="${posix.basename(name)}">\n`,
    parts: partsFor(part, up),
    hasMenu: part !== undefined,
    body: `<div class="page${part === undefined ? ' alone' : ''}">
${pages}<main id="main">
${rendered.html}${footerOf(name)}
</main>
${contentsOf(rendered)}
</div>`,
  })
}

/**
 * The page of a wrong address. The service puts the way to the documentation for `{docs}`, which
 * depends on the address.
 */
export const missingPage = (assets: Assets): string =>
  frame(assets, {
    title: 'Page not found',
    up: '{docs}',
    parts: partsFor(undefined, '{docs}'),
    hasMenu: false,
    body: `<div class="page alone">
<main id="main">
<h1>Page not found</h1>
<p>There is no page at this address. Search the documentation, or go on from here:</p>
<ul>
<li><a href="{docs}guides/">Guides</a></li>
<li><a href="{docs}reference/">Reference</a></li>
<li><a href="{docs}../console/">Console</a></li>
</ul>
</main>
</div>`,
  })
