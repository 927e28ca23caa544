import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { rolldown } from 'rolldown'

import { type Backend, nodeHandler, type RenderOptions } from '../../src/clients/backend/backend.ts'
import { open, shut } from './backends.ts'
import type { PageState } from './components/page.ts'
import { ROOT } from './markdown.ts'

/** The frameworks, and where theirs packages are if it is not in `node_modules`. */
export const FRAMEWORKS = {
  'React 18': { file: 'react', from: 'test/ci/react-18/node_modules', packages: ['react', 'react-dom'] },
  'React 19': { file: 'react', from: 'node_modules', packages: [] },
  Vue: { file: 'vue', from: 'node_modules', packages: [] },
} as const
export type Framework = keyof typeof FRAMEWORKS

export const isInstalled = (framework: Framework): boolean => existsSync(join(ROOT, FRAMEWORKS[framework].from))

/** In development, so that the framework warns of what does not match. */
async function bundle(framework: Framework, file: string, platform: 'browser' | 'node', to: string): Promise<string> {
  const { from, packages } = FRAMEWORKS[framework]
  const build = await rolldown({
    cwd: ROOT,
    input: `test/harness/components/${file}.ts`,
    platform,
    resolve: { alias: Object.fromEntries(packages.map((name) => [name, join(ROOT, from, name)])) },
    transform: {
      define: {
        'process.env.NODE_ENV': '"development"',
        __VUE_OPTIONS_API__: 'false',
        __VUE_PROD_DEVTOOLS__: 'false',
        __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'true',
      },
    },
    logLevel: 'silent',
  })
  const path = join(to, `${file}-${platform}.mjs`)
  await build.write({ file: path })
  await build.close()
  return path
}

export interface ComponentSite {
  url: string
  close(): Promise<void>
}

/**
 * A site with its backend, whose pages a framework draws. The address has the state of the page as
 * JSON (`state`), and where the server draws the thread, what `renderThread` is given (`render`).
 */
export async function startComponentSite<Incoming>(
  framework: Framework,
  backendFor: (url: () => string) => Backend<Incoming>,
): Promise<ComponentSite> {
  const { file } = FRAMEWORKS[framework]
  const folder = mkdtempSync(join(tmpdir(), 'components-'))
  const [script, server] = await Promise.all([
    bundle(framework, file, 'browser', folder),
    bundle(framework, `${file}-server`, 'node', folder),
  ])
  const { draw } = (await import(pathToFileURL(server).href)) as { draw: (state: PageState) => Promise<string> }
  let url = ''
  const backend = backendFor(() => url)
  const serve = nodeHandler(backend as Backend<never>)

  async function pageOf(query: URLSearchParams): Promise<string> {
    const state = JSON.parse(query.get('state') ?? '{}') as PageState
    const options = JSON.parse(query.get('render') ?? 'null') as RenderOptions<Incoming> | null
    const rendered = options && (await backend.renderThread(options))
    const full = rendered ? { ...state, thread: { ...state.thread, html: rendered.html } } : state
    const json = JSON.stringify(full).replaceAll('<', '\\u003c')
    return `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<style>engagement-thread:not(:defined) { display: block }</style>
<div id="app">${rendered ? await draw(full) : ''}</div>
<script>Object.assign(window, { heard: [], state: ${json} })</script>
<script type="module">
import { start } from '/script.mjs'
start(document.getElementById('app'), ${rendered !== null})
</script>`
  }

  const listening = createServer((request, response) => {
    serve(request as never, response, () => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site')
      const send = (type: string, text: string): void => void response.setHeader('content-type', type).end(text)
      if (pathname === '/script.mjs') return send('text/javascript', readFileSync(script, 'utf8'))
      pageOf(searchParams).then(
        (html) => send('text/html', html),
        (error: unknown) => response.writeHead(500).end(String(error)),
      )
    })
  })
  url = await open(listening)
  return {
    url,
    close: async () => {
      await shut(listening)
      rmSync(folder, { recursive: true })
    },
  }
}
