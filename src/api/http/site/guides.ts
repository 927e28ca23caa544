import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

import type { FastifyInstance } from 'fastify'
import MarkdownIt, { type Token } from 'markdown-it'

import { ServiceError } from '../../../core/errors.ts'
import { ROOT } from '../../../core/process/root.ts'
import { type Asset, assetOf, sendAsset, serveAsset } from './assets.ts'

const FOLDER = join(ROOT, 'docs')

/** Links to the parts of the documentation. `docs` leads to the folder of its pages. */
export const navigationFrom = (docs: string): string =>
  `<nav aria-label="Documentation"><a href="${docs}guides/">Guides</a><a href="${docs}reference/">Reference</a><a href="${docs}operations/">Operations</a><a href="${docs}../docs">REST</a><a href="${docs}reference/graphql">GraphQL</a></nav>`

/** Their row. The reference of REST has lists of its own in it. */
export const NAVIGATION_STYLE = 'body > nav, footer nav { display: flex; flex-wrap: wrap; gap: 0 1rem }'

const STYLE = `:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
body { max-width: 60rem; margin: 0 auto; padding: 1rem }
pre { overflow-x: auto; padding: 1rem; border: 1px solid #8886; border-radius: 6px }
pre, code { font: 0.875rem/1.5 ui-monospace, monospace }
img { max-width: 100%; height: auto }
table { display: block; overflow-x: auto; border-collapse: collapse }
th, td { padding: 0.25rem 0.75rem; border: 1px solid #8886; text-align: start; vertical-align: top }
body { overflow-wrap: break-word }
${NAVIGATION_STYLE}
footer nav { justify-content: space-between; margin-top: 2rem }
.code { position: relative }
.code button { position: absolute; inset: 0.25rem 0.25rem auto auto; font: inherit; font-size: 0.75rem }`

/** A button for each block of code. Browsers have a clipboard on HTTPS and localhost alone. */
const SCRIPT = `for (const pre of navigator.clipboard ? document.querySelectorAll('pre') : []) {
  const button = document.createElement('button')
  const name = (text) => (button.textContent = text)
  button.type = 'button'
  button.onclick = () => navigator.clipboard.writeText(pre.textContent).then(() => name('Copied'), () => name('Not copied'))
  button.onblur = () => name('Copy')
  name('Copy')
  const box = document.createElement('div')
  box.className = 'code'
  pre.replaceWith(box)
  box.append(pre, button)
}`

const sourceOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Headers of a page or a drawing that has this style sheet, and no script but this one. */
export const headersFor = (style: string, script?: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src ${sourceOf(script)}`]),
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

const HEADERS = headersFor(STYLE, SCRIPT)

/**
 * `GET /docs/guides/`, `/docs/reference/errors` and so on: the pages of `docs`, if the service has
 * that folder. Each is also served as Markdown, at the path of its file. `GET /llms.txt` lists
 * these.
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
  serveAsset(server, '/llms.txt', () => assetOf('text/plain; charset=utf-8', Buffer.from(listForModels())))
}

function readPages(): Map<string, Asset> {
  if (!existsSync(FOLDER)) return new Map()
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(md|json|png|svg)$/.test(name))
    .map((name) => name.replaceAll('\\', '/'))
  const sequences = FOLDERS.map((folder) => sequenceFrom(`${folder}/README.md`))
  const pages = names.map((name) => [addressOf(name), assetOfFile(name, sequences)] as const)
  const sources = names.filter((name) => name.endsWith('.md')).map((name) => [name, assetOfSource(name)] as const)
  return new Map([...pages, ...sources])
}

const FOLDERS = ['guides', 'reference', 'operations']

/** The text of a page of `docs`, without its comments. */
const textOf = (name: string): string => withoutNotes(readFileSync(join(FOLDER, name), 'utf8'))

const LINK = /(!?)\[([^\][]*)\]\(([^()\s]+)\)/g

/** The pages of a folder and those within it, in the order of the links of their indexes. */
function sequenceFrom(index: string): string[] {
  const folder = posix.dirname(index)
  const linked = [...textOf(index).matchAll(LINK)].map(([, , , href = '']) =>
    posix.join(folder, href.split('#')[0] ?? ''),
  )
  const pages = new Set(
    linked.filter((name) => name.startsWith(`${folder}/`) && name.endsWith('.md') && name !== index),
  )
  const within = [...pages].flatMap((name) => (name.endsWith('/README.md') ? sequenceFrom(name) : [name]))
  return [...new Set([index, ...within])]
}

/** Files outside of `docs` are not served: links to them become text. */
function assetOfSource(name: string): Asset {
  const text = textOf(name).replace(LINK, (whole, image: string, label: string, href: string) =>
    linkFrom(name, href) !== null ? whole : image === '' ? label : '',
  )
  return assetOf('text/markdown; charset=utf-8', Buffer.from(text), HEADERS)
}

/** The pages by their folders, as https://llmstxt.org has it. Links are relative. */
function listForModels(): string {
  if (!existsSync(FOLDER)) throw new ServiceError('not_found')
  const parts = FOLDERS.map((folder) => {
    const [index = '', ...rest] = sequenceFrom(`${folder}/README.md`)
    const lines = rest.map((name) => `- [${titleOf(name)}](docs/${name})`)
    return `## ${titleOf(index)}\n\n${lines.join('\n')}\n`
  })
  const about = '> Comments, reactions, live streams and webhooks for many tenants, by REST and GraphQL.'
  const whole = '- [REST, as OpenAPI 3.1](openapi.json)\n- [Events, as AsyncAPI 3](asyncapi.json)\n'
  return ['# Engagement Service\n', `${about}\n`, ...parts, `## Interfaces\n\n${whole}`].join('\n')
}

const titleOf = (name: string): string => /^# (.+)$/m.exec(textOf(name))?.[1]?.replaceAll('`', '') ?? name

function assetOfFile(name: string, sequences: readonly string[][]): Asset {
  const bytes = readFileSync(join(FOLDER, name))
  if (name.endsWith('.json')) return assetOf('application/json', bytes, HEADERS)
  if (name.endsWith('.svg')) return assetOfDrawing(bytes)
  return name.endsWith('.png') ? assetOf('image/png', bytes, HEADERS) : render(name, sequences)
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
const addressOf = (name: string): string => name.replace(/(^|\/)README\.md$|\.md$/, '$1')

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

/** Links to the pages before and after this one. */
function neighboursOf(name: string, sequences: readonly string[][]): string {
  const sequence = sequences.find((one) => one.includes(name)) ?? []
  const at = sequence.indexOf(name)
  const link = (page: string | undefined, rel: string, label: string): string =>
    page === undefined
      ? ''
      : `<a href="${linkFrom(name, posix.relative(posix.dirname(name), page)) ?? ''}" rel="${rel}">${label}: ${markdown.utils.escapeHtml(titleOf(page))}</a>`
  const links = link(sequence[at - 1], 'prev', 'Previous') + link(at < 0 ? undefined : sequence[at + 1], 'next', 'Next')
  return links && `<footer><nav aria-label="Previous and next page">${links}</nav></footer>\n`
}

function render(name: string, sequences: readonly string[][]): Asset {
  const tokens = markdown.parse(textOf(name), {})
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
  const up = '../'.repeat(name.split('/').length - 1)
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${markdown.utils.escapeHtml(title)} - Engagement Service</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="text/markdown" href="${posix.basename(name)}">
<style>${STYLE}</style>
</head>
<body>
${navigationFrom(up)}
<main>
${markdown.renderer.render(withoutEmpty(tokens), markdown.options, {})}</main>
${neighboursOf(name, sequences)}<script>${SCRIPT}</script>
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
  const folder = posix.dirname(name)
  const target = posix.join(folder, path)
  if (target.startsWith('..')) return null
  const relative = posix.relative(folder, addressOf(target).replace(/\/$/, ''))
  const address = `${relative === '' ? '.' : relative}${/(^|\/)README\.md$/.test(path) ? '/' : ''}`
  return anchor === undefined ? address : `${address}#${anchor}`
}
