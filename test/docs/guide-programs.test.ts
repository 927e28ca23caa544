import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { exampleEvent } from '../../src/domains/webhooks/example.ts'
import { signedHeaders } from '../../src/core/delivery/request.ts'
import { newSigningSecret } from '../../src/core/secrets/signing-secrets.ts'
import { refreshDueKeySets } from '../../src/domains/readers/key-sets.ts'
import { useFolder } from '../harness/folders.ts'
import { GLOBALS, MODULES, PROGRAMS } from '../harness/guide-programs.ts'
import { readPages, ROOT } from '../harness/markdown.ts'
import { freePort } from '../harness/ports.ts'
import { findProgram } from '../harness/programs.ts'
import { useService } from '../harness/service.ts'
import { addSite, ORIGIN, type TestSite } from '../harness/sites.ts'
import { typeErrorsOf } from '../harness/type-check.ts'
import { CHECKED, typescriptOf } from '../harness/vue-programs.ts'

const COMPILED = ['js', 'ts', 'tsx', 'vue']
const LANGUAGES = [...COMPILED, 'python', 'go']

/**
 * `stream:2` is the second block of a programming language in docs/guides/stream.md,
 * `../../README:1` the first one in the README.
 */
const blocks: ReadonlyMap<string, { language: string; content: string }> = new Map(
  readPages()
    .filter(({ path }) => path === 'README.md' || path.startsWith('docs/guides/'))
    .flatMap((page) =>
      page.blocks
        .filter(({ language }) => LANGUAGES.includes(language))
        .map(
          (block, index) =>
            [`${relative('docs/guides', page.path).slice(0, -'.md'.length)}:${index + 1}`, block] as const,
        ),
    ),
)

test('every program of the guides is run, or has a reason why not', () => {
  expect([...blocks.keys()].toSorted()).toEqual(Object.keys(PROGRAMS).toSorted())
})

/** As of JavaScript: it does not look for what may be undefined. */
const OPTIONS = { strict: false, exactOptionalPropertyTypes: false, jsx: 'react-jsx' }
const DECLARATIONS = { 'globals.d.ts': GLOBALS, 'modules.d.ts': MODULES, 'checked.d.ts': CHECKED }

test('those in JavaScript, TypeScript and Vue match the types of the clients', () => {
  const scripts = [...blocks].filter(([, { language }]) => COMPILED.includes(language))
  const files = scripts.map(([name, { language, content }]) => [
    `${name.replace(/[./:]+/g, '-')}.${language === 'vue' ? 'ts' : language}`,
    // Only annotations tell the compiler which framework's request it is, and what was asked for.
    `${(language === 'vue' ? typescriptOf(content) : content)
      .replace('reader: (req)', 'reader: (/** @type {import("express").Request} */ req)')
      .replace('next: ({ data, errors })', 'next: (/** @type {any} */ { data, errors })')}\nexport {}\n`,
  ])
  expect(typeErrorsOf({ ...Object.fromEntries(files), ...DECLARATIONS }, OPTIONS)).toEqual([])
})

test('components of Vue are checked with their templates', () => {
  const withThread = (template: string): string =>
    typescriptOf(
      `<script setup lang="ts">\nimport { EngagementThread } from 'engagement-vue'\n</script>\n<template>${template}</template>`,
    )
  const errors = typeErrorsOf(
    {
      'right.ts': withThread('<EngagementThread sign-in="/login" @sign-in="(event) => event.preventDefault()" />'),
      'event.ts': withThread('<EngagementThread @posted="({ detail }) => detail.count" />'),
      'name.ts': withThread('<EngagementThread article="a" />'),
      'value.ts': withThread('<EngagementThread sort="best" />'),
      ...DECLARATIONS,
    },
    OPTIONS,
  )
  expect(errors.map((line) => line.split('(')[0])).toEqual(['event.ts', 'name.ts', 'value.ts'])
  expect(() => withThread('<EngagementThread>')).toThrow('missing end tag')
})

describe('run against the service', () => {
  const service = useService({ env: { WEBHOOK_ALLOW_HTTP: 'true' } })
  let testSite: TestSite
  const folder = useFolder()
  const running: ChildProcess[] = []

  beforeAll(async () => {
    testSite = await addSite(service, service)
    const ann = await service.as('reader-1')
    await service.ok('POST', '/discussions/by-external/article-1/comments', { body: 'From the start' }, ann)
    mkdirSync(join(folder, 'node_modules'))
    for (const name of ['express', 'eventsource', 'fastify', 'graphql', 'graphql-sse'])
      link(name, join(ROOT, 'node_modules', name))
    link('engagement-service', ROOT)
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(join(folder, 'token.js'), blocks.get('graphql/client:3')?.content ?? '')
  })
  afterAll(() => running.forEach((child) => child.kill()))

  const link = (name: string, to: string): void => symlinkSync(to, join(folder, 'node_modules', name))

  function start(name: string, env: Readonly<Record<string, string>>): ChildProcess {
    const program = PROGRAMS[name]
    if (program == null) throw new Error(`${name} is not run`)
    // Where a guide has an address in public, this service, and its site.
    const content = (blocks.get(name)?.content ?? '')
      .replaceAll('https://comments.example.com', service.url)
      .replaceAll('pk_…', testSite.publicKey)
    const file = join(folder, `${name.replace(/[/:]/g, '-')}.mjs`)
    writeFileSync(file, [program.before, content, program.after].join('\n'))
    const child = spawn(process.execPath, [file], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    running.push(child)
    return child
  }

  /** Starts a server, and gives its address once it answers. */
  async function serve(name: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const port = await freePort()
    start(name, { ...env, PORT: String(port), SITE_PORT: String(port) })
    const url = `http://127.0.0.1:${port}`
    await vi.waitFor(() => fetch(`${url}/`))
    return url
  }

  const ofBackend = () => ({
    ENGAGEMENT_URL: service.url,
    ENGAGEMENT_API_KEY: service.apiKey,
    ENGAGEMENT_TENANT: service.tenant.slug,
    ENGAGEMENT_IDENTITY_SECRET: service.identitySecret.secret,
  })

  test.each(['backend:1', 'widget:1'])('%s: the backend answers a page', async (name) => {
    const url = await serve(name, ofBackend())
    const cookie = { cookie: 'reader=ann' }
    const { reader } = await (await fetch(`${url}/engagement/me`, { headers: cookie })).json()
    expect(reader).toMatchObject({ name: 'Ann' })
    const page = name === 'widget:1' ? 'article-123' : 'article-1'
    const posted = await fetch(`${url}/engagement/comments?externalId=${page}`, {
      method: 'POST',
      headers: { ...cookie, 'content-type': 'application/json', 'x-requested-with': 'engagement' },
      body: JSON.stringify({ body: `By ${name}` }),
    })
    expect(posted.status, await posted.text()).toBe(201)
    if (name === 'widget:1')
      expect(await (await fetch(url)).text()).toContain('<engagement-thread discussion="article-123"')
  })

  test('stream:1 to stream:4: a ticket, the client, that of several tabs and EventSource alone', async () => {
    const site = await serve('stream:1', { BASE: service.url, API_KEY: service.apiKey })
    for (const name of ['stream:2', 'stream:3', 'stream:4']) {
      const { stdout } = start(name, { SITE: site })
      expect(await text(stdout as NodeJS.ReadableStream), name).toBe('From the start\n')
    }
  })

  test.each([5, 6])('stream:%i follows several discussions', async (n) => {
    const { json } = await service.call('GET', '/discussions/by-external/article-1')
    const { stdout } = start(`stream:${n}`, { BASE: service.url, KEY: service.apiKey, ID: json.id })
    expect(await text(stdout as NodeJS.ReadableStream)).toBe(`${json.id}\n`)
  })

  test('issuer-for-development:1 signs a reader of a site in', async () => {
    const issuer = await serve('issuer-for-development:1')
    // The settings of both guides, one after another: those of an issuer in public come first.
    const commands = ['issuers', 'issuer-for-development'].flatMap(
      (name) => readPages().find(({ path }) => path === `docs/guides/${name}.md`)?.blocks ?? [],
    )
    const settings = commands.flatMap(({ content }) => /^api \/settings -X PATCH -d '(.*)'$/m.exec(content)?.[1] ?? [])
    expect(settings.length).toBeGreaterThan(1)
    for (const change of settings) {
      const body: unknown = JSON.parse(change.replaceAll('http://127.0.0.1:4200', issuer))
      expect((await service.call('PATCH', '/settings', { body })).status).toBe(200)
    }
    await refreshDueKeySets(service.app, async (url) => (await fetch(url)).json() as Promise<unknown>)
    const token = await (await fetch(`${issuer}/token`)).text()
    const { status, text: answer, json } = await testSite.ask('GET', '/me?signedIn=1', { token })
    expect(status, answer).toBe(200)
    expect(json.reader).toMatchObject({ id: 'ann', name: 'Ann' })
  })

  test('graphql/site:1 asks for a page of the site', async () => {
    const path = `/discussions/by-external/${encodeURIComponent(`${ORIGIN}/a-page`)}/comments`
    await service.ok('POST', path, { body: 'At a site' }, await service.as('ann'))
    const { stdout } = start('graphql/site:1', {})
    expect(JSON.parse(await text(stdout as NodeJS.ReadableStream))).toMatchObject({ discussion: { commentCount: 1 } })
  })

  test('graphql/client:1 and graphql/client:4: a page asks with the token of its backend', async () => {
    const site = await serve('graphql/client:1', ofBackend())
    const { stdout } = start('graphql/client:4', { SITE: site })
    expect(JSON.parse(await text(stdout as NodeJS.ReadableStream))).toMatchObject({
      data: { discussion: { commentCount: expect.any(Number) as number } },
    })
  })

  test.each([1, 2])('graphql/subscriptions:%i gets what was there before and what comes later', async (n) => {
    const site = await serve('graphql/client:1', ofBackend())
    const { json } = await service.call('GET', '/discussions/by-external/article-1')
    const env = { SITE: site, BASE: service.url, KEY: service.apiKey, ID: json.id }
    const { stdout } = start(`graphql/subscriptions:${n}`, env)
    let output = ''
    stdout?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    const created = () => output.match(/\bcomment_created\b/g)?.length ?? 0
    const before = json.commentCount as number
    await vi.waitFor(() => expect(created()).toBe(before))
    const body = { body: 'Later' }
    const headers = await service.as('ann')
    await service.call('POST', `/discussions/${json.id}/comments`, { body, headers })
    await vi.waitFor(() => expect(created()).toBe(before + 1))
    expect(output).not.toContain('over')
  })

  const secret = newSigningSecret()
  const { body } = exampleEvent('comment_created')
  const request = { prefix: 'X-Service-', event: 'comment_created', deliveryId: 'd', idempotencyKey: 'k' }
  const signed = (by = secret, at = new Date()) => signedHeaders(request, [by], at, body)
  const stranger = newSigningSecret()

  test('webhook-signatures:1: Express, Fastify and a fetch handler accept genuine requests only', async () => {
    const url = new URL(await serve('webhook-signatures:1', { SECRET: secret.secret }))
    for (const port of [0, 1, 2].map((n) => Number(url.port) + n)) {
      const send = async (headers: Record<string, string>) =>
        (await fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', headers, body })).status
      await vi.waitFor(async () => expect(await send(signed())).toBe(200))
      expect(await send(signed(stranger))).toBe(401)
    }
  })

  test('webhook-signatures:2 and webhook-signatures:3 name only headers that a delivery has', () => {
    const sent = Object.keys(signedHeaders(request, [secret, stranger], new Date(), body))
    for (const name of ['webhook-signatures:2', 'webhook-signatures:3']) {
      const named = blocks.get(name)?.content.match(/x-service-[a-z-]+/gi) ?? []
      expect(named.length, name).toBeGreaterThan(1)
      for (const header of named)
        expect(
          sent.map((each) => each.toLowerCase()),
          name,
        ).toContain(header.toLowerCase())
    }
  })

  const python = findProgram('python3')
  test.skipIf(python === undefined)(
    `webhook-signatures:2: Python accepts genuine requests only${python === undefined ? ' (skipped: it is not here)' : ''}`,
    () => {
      const { before, after } = PROGRAMS['webhook-signatures:2'] ?? { before: '', after: '' }
      const lower = (headers: Record<string, string>) =>
        Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
      const given = [signed(), signed(stranger), signed(secret, new Date(Date.now() - 600_000))].map((headers) => ({
        headers: lower(headers),
        body,
        secrets: [secret.secret],
      }))
      const program = [before, blocks.get('webhook-signatures:2')?.content ?? '', after].join('\n')
      const { stdout, stderr } = spawnSync(python ?? '', ['-c', program], {
        input: JSON.stringify(given),
        encoding: 'utf8',
      })
      expect(JSON.parse(stdout || 'null'), stderr).toEqual([true, false, false])
    },
  )
})
