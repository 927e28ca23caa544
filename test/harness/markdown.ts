import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

import markdownIt from 'markdown-it'

import { anchorOf } from '../../src/docs/markdown.ts'

export const ROOT = join(import.meta.dirname, '../..')

interface Block {
  language: string
  content: string
  line: number
}

/** A page of the documentation. */
export interface Page {
  /** From the root of the repository. */
  path: string
  text: string
  /** What its links and pictures point to. */
  links: string[]
  anchors: ReadonlySet<string>
  blocks: Block[]
  /** Code within prose and tables. */
  codes: string[]
}

const parser = markdownIt()

function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const anchors = new Set<string>()
  const page: Page = { path, text, links: [], anchors, blocks: [], codes: [] }
  const tokens = parser.parse(text, {})
  tokens.forEach((token, index) => {
    if (token.type === 'fence') {
      page.blocks.push({ language: token.info, content: token.content, line: (token.map?.[0] ?? 0) + 1 })
    }
    const children = token.children ?? []
    if (tokens[index - 1]?.type === 'heading_open') {
      anchorOf(children.map(({ content }) => content).join(''), anchors)
    }
    for (const child of children) {
      const target = child.attrGet('href') ?? child.attrGet('src')
      if (target !== null) page.links.push(target)
      if (child.type === 'code_inline') page.codes.push(child.content)
    }
  })
  return page
}

const namesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))

/** Every page: those of the root, of `docs`, of `vectors`, and the figures of the benches. */
export const readPages = (): Page[] => ['.', 'docs', 'vectors', 'test/bench'].flatMap(namesIn).map(readPage)

/**
 * The file from the root, and the anchor in it, that a relative link of a page names; null for
 * another site.
 */
export function targetOf(page: Page, link: string): { file: string; anchor: string } | null {
  if (/^[a-z]+:/i.test(link)) return null
  const [path = '', anchor = ''] = decodeURI(link).split('#')
  return { file: path === '' ? page.path : relative(ROOT, join(ROOT, dirname(page.path), path)), anchor }
}
