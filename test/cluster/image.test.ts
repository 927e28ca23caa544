import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { validate } from 'dockerfile-utils'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { DOCKERFILE, NO_CONTAINER, readImage, runContainer } from '../harness/container.ts'
import { createServerDatabase, makeDataDir, onServer } from '../harness/database.ts'
import { signIdentity } from '../harness/identity.ts'
import { freePort } from '../harness/ports.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LONG = 120_000
const MB = 1e6
/** What is in the image beside the service: debian:bookworm-slim, and the binary of Node 24. */
const BASE_BYTES = 75 * MB + 127 * MB

/** The bytes of all files below a folder. */
const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .reduce((sum, entry) => sum + lstatSync(join(entry.parentPath, entry.name)).size, 0)

describe('the folder of the container image', { timeout: LONG }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-image-'))
  const tree = join(folder, 'service')
  const { PATH, HOME } = process.env

  const runIn = (cwd: string, command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    spawnSync(command, args, { cwd, env: { PATH, HOME, ...env }, encoding: 'utf8' })

  beforeAll(() => {
    // The cache of `npm ci` is not there while an image is built.
    const env = { PATH, HOME, npm_config_cache: join(folder, 'no-cache') }
    execFileSync(join(ROOT, 'deploy/image/build.sh'), [tree], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('contains no tools, and is small', () => {
    const modules = join(tree, 'node_modules')
    const names = readdirSync(modules)
    for (const name of ['prisma', 'typescript', 'tsx', 'vite', 'vitest', 'react']) expect(names).not.toContain(name)
    expect(sizeOf(modules)).toBeLessThan(150 * MB)
    expect(sizeOf(tree) + BASE_BYTES).toBeLessThan(300 * MB)
  })

  test('is what `npm pack` packs: its command, and its modules for other programs', () => {
    const files = readdirSync(tree, { recursive: true, encoding: 'utf8' }).filter(
      (name) => !name.startsWith('node_modules'),
    )
    for (const name of ['LICENSE', 'README.md', 'prisma/schema.prisma', 'dist/widget/widget.js']) {
      expect(files).toContain(name)
    }
    expect(files.filter((name) => /^src.*\.|^test|\.env|\.data|stamp|tsbuildinfo|packages\//.test(name))).toEqual([
      'src/build/build.mjs',
    ])
    const { stdout } = runIn(folder, join(tree, 'dist/bin.js'), ['help'])
    expect(stdout).toMatch(/^Usage: engagement-service <command>/)
    const script = `for (const name of ['backend', 'client', 'webhooks']) await import('engagement-service/' + name)`
    expect(runIn(tree, 'node', ['--input-type=module', '--eval', script])).toMatchObject({ status: 0, stderr: '' })
  })

  test('starts with `npm start`, serves every page, and ends when npm gets SIGTERM', async () => {
    const PORT = String(await freePort())
    makeDataDir(join(folder, 'data'))
    const env = { PATH, HOME, PORT, DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'warn', DRAIN_SECONDS: '0' }
    const npm = spawn('npm', ['start'], { cwd: tree, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const closed = new Promise((resolve) => npm.once('close', resolve))
    try {
      const said = await new Promise<string>((resolve, reject) => {
        let text = ''
        npm.stdout.setEncoding('utf8').on('data', (part: string) => {
          text += part
          if (text.includes('curl -sw')) resolve(text)
        })
        npm.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
      })
      const [apiKey = ''] = /ek_[0-9a-f]{64}/.exec(said) ?? []
      const created = await fetch(`http://127.0.0.1:${PORT}/api/v1/discussions`, {
        method: 'POST',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ externalId: 'article-1' }),
      })
      expect(created.status, await created.text()).toBe(201)
      // Each of these is read from a file that pruning could have deleted.
      const pages = [
        'docs',
        'docs/reference/rest/comments',
        'docs/guides/',
        'llms.txt',
        'console/',
        'widget.js',
        'api/v1/openapi.json',
        'graphql',
      ]
      for (const page of pages) {
        const answer = await fetch(`http://127.0.0.1:${PORT}/${page}`, { headers: { accept: 'text/html' } })
        // Unread, it would keep its connection open.
        await answer.arrayBuffer()
        expect([page, answer.status]).toEqual([page, 200])
      }
    } finally {
      npm.kill('SIGTERM')
      // The service holds the pipe open until it has ended.
      await closed
    }
    const { status, stdout } = runIn(tree, 'npm', ['run', '--silent', 'cli', '--', 'doctor'], env)
    expect(stdout).toContain('ok    migrations all applied')
    expect(status).toBe(0)
  })

  test('is what the Dockerfile builds, and contains everything that it starts', () => {
    const text = readFileSync(DOCKERFILE, 'utf8')
    expect(validate(text)).toEqual([])
    expect(text).toContain('RUN npm run build && deploy/image/build.sh /service\n')
    expect(text).toContain('COPY --from=build /service /service\n')
    const { workdir, user, entrypoint, healthcheck } = readImage()
    expect([workdir, user]).toEqual(['/service', '10001:10001'])
    // node itself, not npm, is process 1 and gets the signals.
    expect([entrypoint[0], healthcheck[0]]).toEqual(['node', 'node'])
    for (const [, script = ''] of [entrypoint, healthcheck]) expect(existsSync(join(tree, script))).toBe(true)
    const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
    const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] }
    for (const name of files.filter((each) => !/dist|build/.test(each))) expect(ignored).toContain(`!${name}`)
  })

  test.skipIf(NO_CONTAINER !== null)(
    `runs as the image's user on a read-only file system, and ends with 0 at SIGTERM${NO_CONTAINER === null ? '' : ` (skipped: ${NO_CONTAINER})`}`,
    async () => {
      const image = readImage()
      const apiKey = `ek_${randomBytes(32).toString('hex')}`
      const identitySecret = `ids_${randomBytes(32).toString('hex')}`
      const database = onServer ? await createServerDatabase() : null
      const settings: NodeJS.ProcessEnv = {
        HOST: '127.0.0.1',
        DRAIN_SECONDS: '0',
        LOG_LEVEL: 'warn',
        BOOTSTRAP_API_KEY: apiKey,
        BOOTSTRAP_IDENTITY_SECRET: identitySecret,
        ...(database === null
          ? { EMBEDDED: 'true' }
          : {
              DATABASE_URL: database.url,
              REDIS_URL: process.env.REDIS_URL,
              REDIS_PREFIX: `engagement-test-${randomBytes(6).toString('hex')}:`,
              ADMIN_JWT_SECRET: randomBytes(32).toString('hex'),
              ENCRYPTION_KEY: randomBytes(32).toString('base64'),
            }),
      }
      const [port, workerPort] = [String(await freePort()), String(await freePort())]
      const roles: NodeJS.ProcessEnv[] =
        database === null
          ? [{ ...settings, PORT: port }]
          : [
              { ...settings, ROLE: 'api', PORT: port },
              { ...settings, ROLE: 'worker', PORT: '1', WORKER_PORT: workerPort },
            ]
      const containers = roles.map((env) => ({ env, container: runContainer(tree, image, env) }))
      try {
        const [node = '', ...check] = image.healthcheck
        for (const { env, container } of containers) {
          await vi.waitFor(() => {
            const { status, stdout } = runIn(tree, node, [...check, '/readyz'], { ...image.env, ...env })
            expect(status, stdout + container.stdout() + container.stderr()).toBe(0)
          }, LONG)
          // As the Dockerfile has it, without a path.
          expect(runIn(tree, node, check, { ...image.env, ...env }).status).toBe(0)
        }
        const identity = await signIdentity({ tenant: 'demo', secret: identitySecret }, { sub: 'r', name: 'Reader' })
        const post = (path: string, body: unknown): Promise<Response> =>
          fetch(`http://127.0.0.1:${port}/api/v1/discussions${path}`, {
            method: 'POST',
            headers: { 'x-api-key': apiKey, 'x-service-identity': identity, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        expect((await post('', { externalId: 'article-1' })).status).toBe(201)
        expect((await post('/by-external/article-1/comments', { body: 'Hello' })).status).toBe(201)
      } finally {
        const codes = await Promise.all(containers.map(({ container }) => container.stop()))
        await database?.drop()
        expect(codes, containers.map(({ container }) => container.stdout() + container.stderr()).join('\n')).toEqual(
          containers.map(() => 0),
        )
      }
      expect(runIn(tree, 'node', image.healthcheck.slice(1), { ...image.env, PORT: port }).status).toBe(1)
    },
  )

  test('next to sources, as in a clone, it starts what was built from them and nothing older', () => {
    for (const name of ['src', 'docs', 'codegen.ts', 'tsconfig.json'])
      cpSync(join(ROOT, name), join(tree, name), { recursive: true })
    const stamps = readdirSync(join(ROOT, 'dist')).filter((name) => name.endsWith('stamp'))
    for (const name of stamps) cpSync(join(ROOT, 'dist', name), join(tree, 'dist', name))
    expect(runIn(tree, 'npm', ['run', '--silent', 'build'])).toMatchObject({ status: 0, stderr: '' })
    appendFileSync(join(tree, 'src/main.ts'), '// changed\n')
    const { status, stderr } = runIn(tree, 'npm', ['start'])
    expect(stderr).toContain('Install all with `npm ci`, then run `npm run build`.')
    expect(status).toBe(1)
  })
})
