import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

import type { FastifyInstance } from 'fastify'
import MarkdownIt, { type Token } from 'markdown-it'

import { ServiceError } from '../../../core/errors.ts'
import { ROOT } from '../../../core/process/root.ts'
import { type Asset, assetOf, sendAsset } from './assets.ts'

const FOLDER = join(ROOT, 'docs')

const STYLE = `:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
body { max-width: 60rem; margin: 0 auto; padding: 1rem }
pre { overflow-x: auto; padding: 1rem; border: 1px solid #8886; border-radius: 6px }
pre, code { font: 0.875rem/1.5 ui-monospace, monospace }
img { max-width: 100%; height: auto }
table { display: block; overflow-x: auto; border-collapse: collapse }
th, td { padding: 0.25rem 0.75rem; border: 1px solid #8886; text-align: start; vertical-align: top }
body { overflow-wrap: break-word }
nav { display: flex; flex-wrap: wrap; gap: 0 1rem }`

const sourceOf = (style: string): string => `'sha256-${createHash('sha256').update(style).digest('base64')}'`

/** Headers of a page or a drawing that has this style sheet and no script. */
export const headersFor = (style: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    // Allows the pages' images, and the icon.
    "img-src 'self' data:",
    `style-src ${sourceOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
})

const HEADERS = headersFor(STYLE)

/**
 * `GET /docs/guides/`, `/docs/reference/errors` and so on: the pages of `docs`, if the service has
 * that folder.
 */
export function registerGuides(server: FastifyInstance): void {
  let pages: ReadonlyMap<string, Asset> | undefined
  server.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) => {
    const name = request.params['*']
    pages ??= readPages()
    const page = pages.get(name)
    if (page !== undefined) return sendAsset(request, reply, page)
    if (name === '') return reply.redirect('../docs', 308)
    // A folder without its slash. The redirect is relative, so that a proxy's prefix stays.
    if (pages.has(`${name}/`)) return reply.redirect(`${name.split('/').at(-1)}/`, 308)
    throw new ServiceError('not_found')
  })
}

function readPages(): Map<string, Asset> {
  if (!existsSync(FOLDER)) return new Map()
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(md|json|png|svg)$/.test(name),
  )
  return new Map(names.map((name) => [addressOf(name), assetOfFile(name)]))
}

function assetOfFile(name: string): Asset {
  const bytes = readFileSync(join(FOLDER, name))
  if (name.endsWith('.json')) return assetOf('application/json', bytes, HEADERS)
  if (name.endsWith('.svg')) return assetOfDrawing(bytes)
  return name.endsWith('.png') ? assetOf('image/png', bytes, HEADERS) : render(name, bytes.toString())
}

function assetOfDrawing(bytes: Buffer): Asset {
  const [, rest = ''] = bytes.toString().split('<style>')
  const [style = ''] = rest.split('</style>')
  return assetOf('image/svg+xml', bytes, headersFor(style))
}

/**
 * The path below `/docs/`: `guides/rest.md` becomes `guides/rest`, and a folder's README the
 * folder.
 */
const addressOf = (name: string): string => name.replaceAll('\\', '/').replace(/(^|\/)README\.md$|\.md$/, '$1')

/** GitHub's anchor of a heading; the second heading of the same name ends in `-1`. */
export function anchorOf(heading: string, taken: Set<string>): string {
  const base = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
  let anchor = base
  for (let n = 1; taken.has(anchor); n++) anchor = `${base}-${n}`
  taken.add(anchor)
  return anchor
}

const markdown = new MarkdownIt()

/** A page without its comments. */
const withoutNotes = (text: string): string =>
  text
    .split('<!--')
    .map((part, n) => (n === 0 ? part : part.slice(part.indexOf('-->') + '-->'.length)))
    .join('')

function render(name: string, text: string): Asset {
  const tokens = markdown.parse(withoutNotes(text), {})
  const anchors = new Set<string>()
  let title = ''
  tokens.forEach((token, index) => {
    const children = token.children ?? []
    if (tokens[index - 1]?.type === 'heading_open') {
      const heading = children.map(({ content }) => content).join('')
      title ||= heading
      tokens[index - 1]?.attrSet('id', anchorOf(heading, anchors))
    }
    // Files outside of `docs` are not served: links to them become text, and images are dropped.
    let isOutside = false
    token.children = children.flatMap((child) => {
      if (child.type === 'image') {
        const source = linkFrom(name, child.attrGet('src') ?? '')
        if (source !== null) child.attrSet('src', source)
        return source === null ? [] : [child]
      }
      if (child.type === 'link_open') {
        const target = linkFrom(name, child.attrGet('href') ?? '')
        isOutside = target === null
        if (target !== null) child.attrSet('href', target)
      }
      return isOutside && child.type.startsWith('link_') ? [] : [child]
    })
  })
  const up = '../'.repeat(name.replaceAll('\\', '/').split('/').length - 1)
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${markdown.utils.escapeHtml(title)} - Engagement Service</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<nav><a href="${up}guides/">Guides</a><a href="${up}reference/">Reference</a><a href="${up}operations/">Operations</a><a href="${up}../docs">REST</a><a href="${up}reference/graphql">GraphQL</a></nav>
<main>
${markdown.renderer.render(withoutEmpty(tokens), markdown.options, {})}</main>
</body>
</html>
`
  return assetOf('text/html; charset=utf-8', Buffer.from(html), HEADERS)
}

/** Drops elements that contained only images: paragraphs, and tables without a filled cell. */
function withoutEmpty(tokens: readonly Token[]): Token[] {
  const kept: Token[] = []
  for (const token of tokens) {
    kept.push(token)
    const opener = { paragraph_close: 'paragraph_open', table_close: 'table_open' }[token.type]
    if (opener === undefined) continue
    const begin = kept.findLastIndex(({ type }) => type === opener)
    const body = token.type === 'table_close' ? kept.findLastIndex(({ type }) => type === 'tbody_open') : begin
    if (kept.slice(body).every(({ type, children }) => type !== 'inline' || children?.length === 0)) kept.splice(begin)
  }
  return kept
}

/** A link of a page as browsers need it, without `.md`; null if the target is not served. */
function linkFrom(name: string, href: string): string | null {
  if (/^[a-z]+:|^#/i.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const folder = posix.dirname(name.replaceAll('\\', '/'))
  const target = posix.join(folder, path)
  if (target.startsWith('..')) return null
  const relative = posix.relative(folder, addressOf(target).replace(/\/$/, ''))
  const address = `${relative === '' ? '.' : relative}${/(^|\/)README\.md$/.test(path) ? '/' : ''}`
  return anchor === undefined ? address : `${address}#${anchor}`
}
