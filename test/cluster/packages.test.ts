import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LONG = 120_000
const CLIENT = '@engagement-service/client'

const hasRegistry =
  spawnSync('npm', ['ping', '--fetch-timeout=5000', '--fetch-retries=0'], { stdio: 'ignore' }).status === 0
const skipped = hasRegistry ? '' : ' (skipped: the registry of npm does not answer)'

// A dependency's `overrides` do not apply: an installation of the service gets what its
// dependencies request.
test.skipIf(!hasRegistry)(
  `installing the service prints no warnings on Node ${process.version}${skipped}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'engagement-packages-'))
    try {
      const { name, version, type, engines, dependencies } = JSON.parse(
        readFileSync(join(ROOT, 'package.json'), 'utf8'),
      ) as Record<string, unknown>
      mkdirSync(join(folder, 'service'))
      writeFileSync(
        join(folder, 'service/package.json'),
        JSON.stringify({ name, version, type, engines, dependencies }),
      )
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
  },
  LONG,
)

describe('@engagement-service/client', { timeout: LONG }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-packages-'))
  const installed = join(folder, 'node_modules', CLIENT)
  const node = (...args: string[]) => spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })

  beforeAll(() => {
    const made = join(folder, 'made')
    execFileSync(process.execPath, [join(ROOT, 'deploy/npm/client.mjs'), made])
    const run = (...args: string[]): string => execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }).trim()
    const tarball = run('pack', '--silent', '--pack-destination', folder, made)
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    run('install', '--offline', '--silent', '--no-audit', '--no-fund', `./${tarball}`)
  }, LONG)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('installs by itself, and holds what its exports name', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      '@engagement-service',
    ])
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
      version: string
      dependencies?: object
      exports: Record<string, string | { types: string; default: string }>
    }
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(manifest.version).toBe(version)
    expect(manifest.dependencies).toBeUndefined()
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).map((name) => `./${name}`)
    const named = Object.values(manifest.exports).flatMap((each) =>
      typeof each === 'string' ? each : Object.values(each),
    )
    expect(files).toEqual(expect.arrayContaining(named))
    expect(files).toEqual(expect.arrayContaining(['./README.md', './LICENSE', './widget/widget.js']))
    expect(files.filter((name) => /\.(ts|map)$/.test(name) && !name.endsWith('.d.ts'))).toEqual([])
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
    const options = {
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'dom', 'dom.iterable'],
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules/@types')],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }))
    const { status, stdout } = node(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.')
    expect(stdout).toBe('')
    expect(status).toBe(0)
  })
})
