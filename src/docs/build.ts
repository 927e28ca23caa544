// Writes the site of the documentation, `dist/docs`: the pages of `docs` as HTML and as Markdown,
// and the index of the search.
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import MiniSearch from 'minisearch'
import { rolldown } from 'rolldown'

import { ROOT } from '../core/process/root.ts'
import { type Assets, missingPage, pageOf } from './layout.ts'
import { compact } from './compact-index.ts'
import { addressOf, FOLDER, renderPage, sourceOf, titleOf } from './markdown.ts'
import { FOLDERS, partOf, sequenceFrom } from './navigation.ts'
import { type Found, OPTIONS } from './search-options.ts'

/**
 * Characters of a section that the results show. Those of the reference begin with an example, and
 * say less than their heading.
 */
const shownOf = (address: string): number => (/^reference\/(rest\/|graphql)/.test(address) ? 0 : 90)

const OUT = join(ROOT, 'dist/docs')

function write(name: string, content: string): void {
  const file = join(OUT, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** Its name has a digest of its content, so that browsers keep the file for good. */
function writeAsset(name: string, content: string): string {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 8)
  const asset = `assets/${name.replace(/(?=\.\w+$)/, `-${digest}`)}`
  write(asset, content)
  return asset
}

/** A script of `src/docs/browser` as one file. */
async function bundle(name: string): Promise<string> {
  const build = await rolldown({ input: join(import.meta.dirname, `browser/${name}.ts`), platform: 'browser' })
  const { output } = await build.generate({ format: name === 'search' ? 'es' : 'iife', name: 'docs', minify: true })
  await build.close()
  return output[0].code
}

rmSync(OUT, { recursive: true, force: true })
const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))
const pages = names.filter((name) => name.endsWith('.md')).map((name) => ({ name, rendered: renderPage(name) }))

const index = new MiniSearch(OPTIONS)
const found = pages.flatMap(({ name, rendered: { sections } }) =>
  sections.map(({ level, text, anchor, body }) => ({
    address: level === 1 ? addressOf(name) : `${addressOf(name)}#${anchor}`,
    // The part, where a section is the page itself.
    page: level === 1 ? (partOf(name)?.label ?? '') : titleOf(name),
    heading: text,
    body: body.replace(/\s+/g, ' ').trim(),
  })),
)
index.addAll(found.map((each, id): Found => ({ id, ...each, shown: each.body.slice(0, shownOf(each.address)) })))

const assets: Assets = {
  style: writeAsset('docs.css', readFileSync(join(import.meta.dirname, 'docs.css'), 'utf8')),
  theme: writeAsset('theme.js', await bundle('theme')),
  script: writeAsset('docs.js', await bundle('docs')),
  search: writeAsset('search.js', await bundle('search')),
  index: writeAsset('index.json', JSON.stringify(compact(index.toJSON()))),
}
write('assets/icon.svg', readFileSync(join(ROOT, 'src/console/public/icon.svg'), 'utf8'))

for (const { name, rendered } of pages) {
  write(name, sourceOf(name))
  write(name.replace(/README\.md$/, 'index.html').replace(/\.md$/, '.html'), pageOf(name, rendered, assets))
}
for (const name of names.filter((each) => /\.(json|png|svg)$/.test(each))) {
  mkdirSync(dirname(join(OUT, name)), { recursive: true })
  copyFileSync(join(FOLDER, name), join(OUT, name))
}
write('404.html', missingPage(assets))
write('llms.txt', listForModels())

/** The pages by their folders, as https://llmstxt.org has it. Links are relative. */
function listForModels(): string {
  const parts = FOLDERS.map((folder) => {
    const [first = '', ...rest] = sequenceFrom(`${folder}/README.md`)
    return `## ${titleOf(first)}\n\n${rest.map((name) => `- [${titleOf(name)}](docs/${name})`).join('\n')}\n`
  })
  const about = '> Comments, reactions, live streams and webhooks for many tenants, by REST and GraphQL.'
  const whole = '- [REST, as OpenAPI 3.1](openapi.json)\n- [Events, as AsyncAPI 3](asyncapi.json)\n'
  return ['# Engagement Service\n', `${about}\n`, ...parts, `## Interfaces\n\n${whole}`].join('\n')
}
