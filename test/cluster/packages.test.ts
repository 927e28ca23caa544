import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLIENT = '@engagement-service/client'

const hasRegistry =
  spawnSync('npm', ['ping', '--fetch-timeout=5000', '--fetch-retries=0'], { stdio: 'ignore' }).status === 0
const skipped = hasRegistry ? '' : ' (skipped: the registry of npm does not answer)'

const made = mkdtempSync(join(tmpdir(), 'engagement-packages-'))
beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, 'deploy/npm/packages.mjs'), made])
})
afterAll(() => rmSync(made, { recursive: true, force: true }))

/** Packs a package and installs it into a site, which has no other. */
function install(folder: string, name: string): void {
  const run = (...args: string[]): string => execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }).trim()
  const tarball = run('pack', '--silent', '--pack-destination', folder, join(made, name))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  run('install', '--offline', '--silent', '--no-audit', '--no-fund', '--legacy-peer-deps', `./${tarball}`)
}

/** Expects README, changelog, licence and what the exports name, and no dependencies. */
function expectWhole(folder: string, name: string): void {
  const installed = join(folder, 'node_modules', name)
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    version: string
    dependencies?: object
    exports: Record<string, string | { types: string; default: string }>
  }
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  expect(manifest.version).toBe(version)
  expect(manifest.dependencies).toBeUndefined()
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).map((each) => `./${each}`)
  const named = Object.values(manifest.exports).flatMap((each) =>
    typeof each === 'string' ? each : Object.values(each),
  )
  expect(files).toEqual(expect.arrayContaining([...named, './README.md', './CHANGELOG.md', './LICENSE']))
  expect(files.filter((each) => /\.(ts|map)$/.test(each) && !each.endsWith('.d.ts'))).toEqual([])
}

test('a package whose files name something that the build has not made is refused', () => {
  const root = mkdtempSync(join(tmpdir(), 'engagement-packages-'))
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  try {
    write('deploy/npm/packages.mjs', readFileSync(join(ROOT, 'deploy/npm/packages.mjs'), 'utf8'))
    write('package.json', '{ "version": "1.0.0" }')
    write('LICENSE', '')
    for (const name of ['README.md', 'CHANGELOG.md']) write(`src/clients/one/${name}`, '')
    write('src/clients/one/package.json', '{ "files": ["one", "two"] }')
    write('dist/clients/one/one.js', 'export {}')
    // Files of the service are no part of a package.
    write('dist/two/two.js', 'export {}')
    const make = () => spawnSync(process.execPath, ['deploy/npm/packages.mjs'], { cwd: root, encoding: 'utf8' })
    const { status, stderr } = make()
    expect(status).not.toBe(0)
    expect(stderr).toContain(join('dist', 'clients', 'two'))
    write('dist/clients/two/two.js', 'export {}')
    expect(make().status).toBe(0)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})

/** What the site has beside it. */
function link(folder: string, name: string): void {
  const to = join(folder, 'node_modules', name)
  mkdirSync(dirname(to), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', name), to)
}

/** What the compiler says of the site's programs, as Node and as a bundler find modules. */
function typeErrors(folder: string): string {
  return (
    typeErrorsWith(folder, { module: 'nodenext' }) +
    typeErrorsWith(folder, { module: 'esnext', moduleResolution: 'bundler' })
  )
}

function typeErrorsWith(folder: string, options: object): string {
  const compilerOptions = {
    ...options,
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: ['node'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  return spawnSync(process.execPath, [tsc, '-p', '.'], { cwd: folder, encoding: 'utf8' }).stdout
}

// A dependency's `overrides` do not apply: an installation of the service gets what its
// dependencies request.
test.skipIf(!hasRegistry)(`installing the service prints no warnings on Node ${process.version}${skipped}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-packages-'))
  try {
    const { name, version, type, engines, dependencies } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    ) as Record<string, unknown>
    mkdirSync(join(folder, 'service'))
    writeFileSync(join(folder, 'service/package.json'), JSON.stringify({ name, version, type, engines, dependencies }))
    writeFileSync(join(folder, 'package.json'), '{}')
    const npm = (...args: string[]) => spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
    const tarball = npm('pack', '--silent', './service').stdout.trim()
    const options = ['--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=warn']
    const { status, stderr } = npm('install', ...options, `./${tarball}`)
    expect(stderr.split('\n').filter((line) => /EBADENGINE|ERESOLVE|deprecated/.test(line))).toEqual([])
    expect(status).toBe(0)
    const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as { packages: object }
    expect(Object.keys(packages).length).toBeGreaterThan(100)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

describe('@engagement-service/client', () => {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-packages-'))
  const installed = join(folder, 'node_modules', CLIENT)
  const node = (...args: string[]) => spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })

  beforeAll(() => install(folder, 'browser'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('installs by itself, and holds what its exports name', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      '@engagement-service',
    ])
    expectWhole(folder, CLIENT)
  })

  test.each([
    ['', 'openDiscussionStream'],
    ['/backend', 'createBackend'],
    ['/graphql', 'createGraphqlClient'],
    ['/webhooks', 'verifyWebhook'],
  ])('can be imported on Node as %s', (path, name) => {
    const script = `const all = await import('${CLIENT}${path}'); console.log(typeof all.${name})`
    const { stdout, stderr } = node('--input-type=module', '--eval', script)
    expect(stdout, stderr).toBe('function\n')
  })

  test('the module of the widget is complete', () => {
    for (const name of readdirSync(join(installed, 'widget')).filter((each) => each.endsWith('.js'))) {
      const text = readFileSync(join(installed, 'widget', name), 'utf8')
      // A bundle: it imports nothing but the files beside it.
      for (const [, from = ''] of text.matchAll(/(?:from|import)\s*\(?["'`]([^"'`]+)["'`]/g)) {
        expect(readdirSync(join(installed, 'widget'))).toContain(from.replace('./', ''))
      }
      expect(node('--check', join(installed, 'widget', name)).status).toBe(0)
    }
  })

  test('has types, for pages and for backends', () => {
    writeFileSync(
      join(folder, 'page.ts'),
      `import { openDiscussionStream, type StreamEvent } from '${CLIENT}'
       import { EngagementThread, setStrings } from '${CLIENT}/widget'
       setStrings('de', { title: 'Kommentare' })
       const thread: EngagementThread = document.createElement('engagement-thread')
       export const type = (event: StreamEvent): string => event.type
       export { openDiscussionStream, thread }
       // @ts-expect-error: there is no such text
       setStrings('de', { titel: 'Kommentare' })`,
    )
    writeFileSync(
      join(folder, 'backend.ts'),
      `import { createBackend, nodeHandler } from '${CLIENT}/backend'
       import { verifyWebhook } from '${CLIENT}/webhooks'
       export { createBackend, nodeHandler, verifyWebhook }
       // @ts-expect-error: it needs more
       createBackend({})`,
    )
    link(folder, '@types/node')
    expect(typeErrors(folder)).toBe('')
  })
})

// `run` prints "works"; the widget needs a browser.
test.each([
  {
    name: '@engagement-service/backend',
    folder: 'backend',
    page: `import { createBackend } from '@engagement-service/backend'
      const of = { url: 'https://x.example', apiKey: 'k', tenant: 'demo', identitySecret: 's' }
      export const { fetch } = createBackend({ ...of, reader: (request: Request) => ({ id: request.url, name: 'Ann' }) })
      // @ts-expect-error: it needs more
      createBackend({})`,
    // No service answers: it draws the element alone.
    run: `import { createBackend } from '@engagement-service/backend'
      const [apiKey, identitySecret] = ['ek_', 'ids_'].map((prefix) => prefix + 'a'.repeat(64))
      const of = { url: 'http://127.0.0.1:1', apiKey, tenant: 'demo', identitySecret, reader: () => null }
      const { html } = await createBackend({ ...of, onError: () => undefined }).renderThread({ externalId: 'a' })
      console.log(html.startsWith('<engagement-thread discussion="a"') ? 'works' : html)`,
  },
  {
    name: '@engagement-service/webhooks',
    folder: 'receiver',
    page: `import { verifyWebhook, type WebhookVerificationError } from '@engagement-service/webhooks'
      const event = verifyWebhook({}, '{}', ['whs_'])
      export const challenge = event.type === 'verification' ? event.challenge : null
      export type Reason = WebhookVerificationError['reason']`,
    run: `import { verifyWebhook } from '@engagement-service/webhooks'
      try { verifyWebhook({}, '{}', ['whs_secret']) } catch (error) { console.log(error.reason && 'works') }`,
  },
  {
    name: '@engagement-service/widget',
    folder: 'widget',
    page: `import { setStrings, type EngagementCount } from '@engagement-service/widget'
      const count: EngagementCount = document.createElement('engagement-count')
      count.reload()
      document.createElement('engagement-thread').setIdentity((isRefused) => (isRefused ? null : Promise.resolve('token')))
      setStrings('de', { title: 'Kommentare' })
      // @ts-expect-error: there is no such text
      count.strings = { titel: 'Kommentare' }`,
    run: `import { readFileSync } from 'node:fs'
      const text = readFileSync(new URL(import.meta.resolve('@engagement-service/widget')), 'utf8')
      console.log(/export\\s*\\{[^}]*setStrings/.test(text) && text.includes('engagement-count') && 'works')`,
  },
])('$name is whole, runs by itself, and has types', ({ name, folder: its, page, run }) => {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-packages-'))
  try {
    install(folder, its)
    expectWhole(folder, name)
    writeFileSync(join(folder, 'run.js'), run)
    const { stdout, stderr } = spawnSync(process.execPath, ['run.js'], { cwd: folder, encoding: 'utf8' })
    expect(stdout, stderr).toBe('works\n')
    writeFileSync(join(folder, 'page.ts'), page)
    link(folder, '@types/node')
    expect(typeErrors(folder)).toBe('')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

describe.each([
  {
    name: 'engagement-react',
    folder: 'react',
    needs: ['react', 'react-dom', 'scheduler'],
    types: ['@types/react', 'csstype'],
    page: `import { EngagementThread, type EngagementElement } from 'engagement-react'
      import { createElement, createRef } from 'react'
      const ref = createRef<EngagementElement>()
      createElement(EngagementThread, {
        ref, discussion: 'a', pageSize: 5, theme: 'dark', className: 'wide', 'aria-label': 'Comments',
        onPosted: ({ detail }) => detail.comment.id.length,
        onSignIn: (event) => event.preventDefault(),
        identity: (isRefused) => (isRefused ? null : Promise.resolve('token')),
      })
      // @ts-expect-error: there is no such order
      createElement(EngagementThread, { discussion: 'a', sort: 'best' })
      // @ts-expect-error: it has no such event
      createElement(EngagementThread, { discussion: 'a', onPosted: ({ detail }) => detail.count })`,
    draw: `import { EngagementThread } from 'engagement-react'
      import { createElement } from 'react'
      import { renderToString } from 'react-dom/server'
      console.log(renderToString(createElement(EngagementThread, { html: process.env.HTML, service: 'https://x.example', signIn: '/in' })))`,
  },
  {
    name: 'engagement-vue',
    folder: 'vue',
    needs: ['vue', '@vue', '@babel', 'entities', 'estree-walker', 'source-map-js'],
    types: ['csstype'],
    page: `import { EngagementThread } from 'engagement-vue'
      import { h } from 'vue'
      h(EngagementThread, {
        discussion: 'a', pageSize: 5, theme: 'dark',
        onPosted: ({ detail }) => void detail.comment.id.length,
        'onSign-in': (event: Event) => event.preventDefault(),
        identity: (isRefused) => (isRefused ? null : Promise.resolve('token')),
      })
      // @ts-expect-error: there is no such order
      h(EngagementThread, { discussion: 'a', sort: 'best' })`,
    draw: `import { EngagementThread } from 'engagement-vue'
      import { createSSRApp, h } from 'vue'
      import { renderToString } from 'vue/server-renderer'
      console.log(await renderToString(createSSRApp(() => h(EngagementThread, { html: process.env.HTML, service: 'https://x.example', signIn: '/in' }))))`,
  },
])('$name', ({ name, folder: its, needs, types, page, draw }) => {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-packages-'))
  beforeAll(() => {
    install(folder, its)
    // The framework is a peer: the site has it already.
    for (const each of [...needs, ...types]) link(folder, each)
    link(folder, '@types/node')
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('holds what its exports name, and depends on nothing but the framework', () => {
    expectWhole(folder, name)
  })

  test('draws on a server what renderThread has drawn, with the properties of the component', () => {
    writeFileSync(join(folder, 'draw.js'), draw)
    const html = `<engagement-thread discussion="a&amp;b" sort="top"><template shadowrootmode="open"><p>Text</p></template></engagement-thread>`
    const options = { cwd: folder, encoding: 'utf8', env: { ...process.env, HTML: html } } as const
    const { stdout, stderr } = spawnSync(process.execPath, ['draw.js'], options)
    expect(stderr).toBe('')
    expect(stdout).toMatch(
      /^<engagement-thread [^>]*><template shadowrootmode="open"><p>Text<\/p><\/template><\/engagement-thread>\n$/,
    )
    for (const attribute of ['discussion="a&amp;b"', 'sort="top"', 'service="https://x.example"', 'sign-in="/in"'])
      expect(stdout).toContain(` ${attribute}`)
  })

  test('has types', () => {
    writeFileSync(join(folder, 'page.ts'), page)
    expect(typeErrors(folder)).toBe('')
  })
})
