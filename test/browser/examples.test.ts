import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'

import { InMemoryCache } from '@apollo/client'
import { formatDocument, stringifyDocument } from '@urql/core'
import { type DocumentNode, Kind, print } from 'graphql'
import type { Browser, BrowserContext, Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { cacheConfig } from '../../src/clients/graphql/apollo.ts'
import * as documents from '../../src/clients/graphql/documents.ts'
import { sha256Hex } from '../../src/core/secrets/crypto.ts'
import { newId } from '../../src/core/ids.ts'
import { hasBrowser, launchBrowser } from '../harness/browser.ts'
import { findInExamples } from '../harness/examples.ts'
import { useFolder } from '../harness/folders.ts'
import { ROOT } from '../harness/markdown.ts'
import { freePort } from '../harness/ports.ts'
import { first, type Processes, startProcesses } from '../harness/processes.ts'

const WAIT = { timeout: 40_000, interval: 50 }
const FIRST_PAGE = 10
const SEEDED = FIRST_PAGE + 2
const WAITS = 'This comment waits for approval.'
const REJECTED = 'This comment was not approved.'

interface Example {
  folder: string
  /** A package that it needs. */
  needs: string
  /** Checks its types, those of its templates, too. */
  check?: (place: string) => [program: string, ...args: string[]]
  /** A field of a comment in one of its templates. */
  template?: { name: string; field: string }
  /** The texts of the documents that its page sends, once it is built. */
  texts: () => string[] | Promise<string[]>
}

const isOperation = (document: DocumentNode): boolean =>
  document.definitions.some(({ kind }) => kind === Kind.OPERATION_DEFINITION)
const OPERATIONS = Object.values(documents).filter(isOperation)

const EXAMPLES: Example[] = [
  {
    folder: 'react-apollo',
    needs: '@apollo/client',
    // Apollo Client asks for `__typename` everywhere.
    texts: () => OPERATIONS.map((document) => print(new InMemoryCache(cacheConfig).transformDocument(document))),
  },
  {
    folder: 'react-relay',
    needs: 'react-relay',
    // Its page sends their ids.
    texts: () => {
      const written = readFileSync(join(ROOT, 'examples/react-relay/__generated__/documents.json'), 'utf8')
      return Object.values(JSON.parse(written) as Record<string, string>)
    },
  },
  {
    folder: 'vue-urql',
    needs: '@urql/vue',
    check: (place) => ['examples/node_modules/vue-tsc/bin/vue-tsc.js', '--noEmit', '-p', place],
    template: { name: 'CommentItem.vue', field: 'v-html="comment.bodyHtml"' },
    texts: () => OPERATIONS.map((document) => stringifyDocument(formatDocument(document as never))),
  },
  {
    folder: 'svelte-fetch',
    needs: 'svelte',
    check: (place) => [
      'examples/node_modules/svelte-check/bin/svelte-check',
      '--fail-on-warnings',
      '--workspace',
      place,
    ],
    template: { name: 'Comments.svelte', field: '{@html comment?.bodyHtml' },
    texts: async () => {
      const own = (await import(join(ROOT, 'examples/svelte-fetch/documents.ts'))) as Record<string, string>
      return Object.values(own)
    },
  },
]

const tsc = (place: string): [string, ...string[]] => [TSC, '-p', place]

/** Runs a program of a package, as a developer does who tries the example. */
function run(program: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const { PATH, HOME } = process.env
  return spawn(process.execPath, [join(ROOT, program), ...args], {
    cwd: ROOT,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function ended(child: ChildProcess): Promise<{ code: number; output: string }> {
  const read = (stream: ChildProcess['stdout']): Promise<string> => textOf(stream as NonNullable<typeof stream>)
  const [output, errors, [code]] = await Promise.all([read(child.stdout), read(child.stderr), once(child, 'exit')])
  return { code, output: output + errors }
}

async function expectDone(child: ChildProcess): Promise<void> {
  const { code, output } = await ended(child)
  expect(code, output).toBe(0)
}

/** Notes each comment that the page has shown twice at the same time, however briefly. */
const WATCH = `
  window.twice = new Set()
  new MutationObserver(() => {
    const notes = document.body?.innerText.match(/Note [0-9a-f-]{36}/g) ?? []
    notes.forEach((note, n) => notes.indexOf(note) !== n && twice.add(note))
  }).observe(document, { subtree: true, childList: true, characterData: true })`

const TSC = 'node_modules/typescript/bin/tsc'
const VITE = 'node_modules/vite/bin/vite.js'
const note = (): string => `Note ${newId()}`

const CASES = EXAMPLES.map((example) => {
  const isHere = findInExamples(example.needs) !== undefined
  const missing = [
    ...(hasBrowser ? [] : ['there is no Chromium here']),
    ...(isHere ? [] : ['npm ci --prefix examples']),
  ]
  const title = example.folder + (missing.length === 0 ? '' : ` (skipped: ${missing.join(', ')})`)
  return [title, { ...example, isSkipped: missing.length > 0 }] as const
})

describe.each(CASES)('examples/%s', (_title, { folder, texts, check = tsc, template, isSkipped }) => {
  describe.skipIf(isSkipped)('in Chromium', () => {
    let service: Processes
    let browser: Browser
    let site: ChildProcess | undefined
    let url: string
    let keyId: string
    const output = useFolder()
    let contexts: BrowserContext[]
    let ann: Page
    let bob: Page
    let failures: unknown[]

    const ok = async (method: string, path: string, options: Parameters<Processes['call']>[2] = {}) => {
      const answer = await service.call(method, path, options)
      expect(answer.status, answer.text).toBeLessThan(300)
      return answer.json
    }
    const post = async (body: string, parentId: string | null = null): Promise<{ id: string; status: string }> => {
      const headers = await service.as('cat')
      return ok('POST', '/discussions/by-external/night-trains/comments', { body: { body, parentId }, headers })
    }

    beforeAll(async () => {
      service = await startProcesses({ worker: 0 })
      url = `http://127.0.0.1:${await freePort()}`
      const settings = { allowedOrigins: [url], suspectWords: ['perhaps'], graphql: { documents: 'known' } }
      await ok('PATCH', '/settings', { body: settings })
      const { id, key } = await ok('POST', '/keys', { body: { label: 'the site', capabilities: [] } })
      keyId = id
      const env = {
        ENGAGEMENT_URL: first(service.apis).url,
        ENGAGEMENT_API_KEY: key,
        ENGAGEMENT_IDENTITY_SECRET: service.identitySecret,
      }
      await expectDone(run(VITE, ['build', `examples/${folder}`, '--outDir', output, '--emptyOutDir'], env))
      const manifest = Object.fromEntries((await texts()).map((text) => [sha256Hex(text), text]))
      await ok('POST', '/documents', { body: { manifest } })
      const { port } = new URL(url)
      site = run(VITE, ['preview', `examples/${folder}`, '--outDir', output, '--port', port, '--strictPort'], env)
      await vi.waitFor(() => fetch(url), WAIT)
      browser = await launchBrowser()
    })
    afterAll(async () => {
      await browser?.close()
      if (site?.exitCode === null && site.kill()) await once(site, 'exit')
      await service?.close()
    })

    async function open(reader: string, shown: number): Promise<Page> {
      const context = await browser.newContext()
      contexts.push(context)
      await context.addCookies([{ name: 'reader', value: reader, url }])
      const page = await context.newPage()
      await page.addInitScript(WATCH)
      page.on('pageerror', (error) => failures.push(error))
      await page.goto(url)
      await vi.waitFor(async () => expect(await articles(page).count()).toBe(shown), WAIT)
      return page
    }
    beforeEach(() => {
      ;[contexts, failures] = [[], []]
    })
    afterEach(async () => {
      for (const page of contexts.flatMap((context) => context.pages()))
        expect(await page.evaluate('[...twice]')).toEqual([])
      expect(failures).toEqual([])
      await Promise.all(contexts.map((context) => context.close()))
    })

    const articles = (page: Page) => page.locator('article[data-id]')
    /** The comment with this text: the innermost article that has it. */
    const article = (page: Page, text: string) => articles(page).filter({ hasText: text }).last()
    const button = (page: Page, text: string, name: string | RegExp) =>
      article(page, text).getByRole('button', { name, exact: typeof name === 'string' })
    const expectOnce = (page: Page, text: string) =>
      vi.waitFor(async () => expect(await page.getByText(text, { exact: true }).count()).toBe(1), WAIT)
    const countOf = async (page: Page): Promise<string> => (await page.locator('h2').textContent()) ?? ''
    const expectCount = (page: Page, count: number) =>
      vi.waitFor(async () => expect(await countOf(page)).toBe(`${count} comments`), WAIT)
    const numberOf = async (page: Page): Promise<number> => Number.parseInt(await countOf(page))
    const write = async (page: Page, text: string): Promise<void> => {
      await page.getByLabel('Your comment').first().fill(text)
      await page.getByRole('button', { name: 'Post', exact: true }).first().click()
    }

    test('has types that fit, and is short', async () => {
      const place = join(ROOT, 'examples', folder)
      const [program, ...args] = check(place)
      await expectDone(run(program, args))
      const sources = readdirSync(place).filter(
        (name) => /\.(html|tsx?|vue|svelte)$/.test(name) && !/config/.test(name),
      )
      const lines = sources.flatMap((name) => readFileSync(join(place, name), 'utf8').match(/^.*\S.*$/gm))
      expect(sources.length).toBeGreaterThan(1)
      expect(lines.length).toBeLessThan(300)
    })

    test.runIf(template)('has templates whose types are checked: a wrong name of a field is an error', async () => {
      const { name, field } = template as NonNullable<typeof template>
      // Beside the packages of the examples.
      const place = mkdtempSync(join(ROOT, 'examples/wrong-'))
      try {
        cpSync(join(ROOT, 'examples', folder), place, { recursive: true })
        const text = readFileSync(join(place, name), 'utf8')
        expect(text).toContain(field)
        writeFileSync(join(place, name), text.replace(field, field.replace('bodyHtml', 'bodyHtm')))
        const [program, ...args] = check(place)
        const { code, output: errors } = await ended(run(program, args))
        expect(code).not.toBe(0)
        expect(errors).toMatch(/'bodyHtm' does not exist/)
      } finally {
        rmSync(place, { recursive: true })
      }
    })

    test('makes the discussion with its first comment, and follows it', async () => {
      const page = await open('ann', 0)
      const [own, other] = [note(), note()]
      await expectCount(page, 0)
      await write(page, own)
      await expectOnce(page, own)
      await expectCount(page, 1)
      await post(other)
      await expectOnce(page, other)
      await expectCount(page, 2)
    })

    describe('with comments', () => {
      beforeAll(async () => {
        const { commentCount } = await ok('GET', '/discussions/by-external/night-trains')
        for (let n = commentCount as number; n < SEEDED; n++) await post(note())
      })
      beforeEach(async () => {
        ;[ann, bob] = [await open('ann', FIRST_PAGE), await open('bob', FIRST_PAGE)]
      })

      test('shows a first page, and loads more', async () => {
        await ann.getByRole('button', { name: 'Load more' }).click()
        await vi.waitFor(async () => expect(await articles(ann).count()).toBe(SEEDED), WAIT)
        expect(await ann.getByRole('button', { name: 'Load more' }).count()).toBe(0)
        expect(await articles(bob).count()).toBe(FIRST_PAGE)
        await expectCount(ann, SEEDED)
      })

      test('shows a post at once, and once, also where its event overtakes the answer', async () => {
        const before = await numberOf(ann)
        const text = note()
        let isSent: () => void = () => undefined
        let release: () => void = () => undefined
        const sent = new Promise<void>((resolve) => (isSent = resolve))
        const released = new Promise<void>((resolve) => (release = resolve))
        await ann.route('**/graphql', async (route: Route) => {
          const response = await route.fetch()
          if (route.request().postData()?.includes(text) === true) {
            isSent()
            await released
          }
          await route.fulfill({ response })
        })
        await write(ann, text)
        await expectOnce(ann, text)
        await sent
        await expectOnce(bob, text)
        await expectCount(bob, before + 1)
        // A later event: the page of the author has had the earlier one, too.
        const later = note()
        await post(later)
        await expectOnce(bob, later)
        await expectOnce(ann, text)
        release()
        await vi.waitFor(
          async () => expect(await article(ann, text).getAttribute('data-id')).toMatch(/^[0-9a-f-]{36}$/),
          WAIT,
        )
        await expectOnce(ann, text)
        await expectCount(ann, before + 2)
      })

      test('shows likes and replies of others', async () => {
        const [text, answer] = [note(), note()]
        await write(ann, text)
        await expectOnce(bob, text)
        await button(bob, text, 'Like 0').click()
        await button(bob, text, 'Like 1').waitFor()
        await button(ann, text, 'Like 1').waitFor()

        await button(bob, text, 'Reply').click()
        const form = article(bob, text).locator('form')
        await form.getByLabel('Your comment').fill(answer)
        await form.getByRole('button', { name: 'Post' }).click()
        await expectOnce(bob, answer)
        const show = button(ann, text, /^Show 1 repl/)
        await show
          .or(ann.getByText(answer, { exact: true }))
          .first()
          .waitFor()
        if (await show.isVisible()) await show.click()
        await expectOnce(ann, answer)
        expect(await article(ann, text).locator('article').getByText(answer, { exact: true }).count()).toBe(1)
      })

      test('shows a comment that waits for approval to its author alone, until it is approved', async () => {
        const text = note()
        const before = await numberOf(ann)
        await write(ann, `${text} perhaps`)
        await article(ann, text).getByText('waits for approval').waitFor()
        const id = (await article(ann, text).getAttribute('data-id')) ?? ''
        // An event later, so the page of the other reader is up to date.
        const later = note()
        await post(later)
        await expectOnce(bob, later)
        expect(await bob.getByText(text).count()).toBe(0)
        expect(await numberOf(ann)).toBe(before + 1)

        await ok('POST', `/comments/${id}/approve`)
        for (const page of [ann, bob]) await expectOnce(page, `${text} perhaps`)
        await vi.waitFor(async () => expect(await ann.getByText('waits for approval').count()).toBe(0), WAIT)
      })

      test('keeps own comments that wait or were rejected in view, once, and tells of the verdict', async () => {
        const [alone, answered, answer] = [note(), note(), note()]
        const expectNotice = async (text: string, notice: string): Promise<void> => {
          await article(ann, text).getByText(notice, { exact: true }).waitFor()
          await expectOnce(ann, text)
        }
        const idOf = async (text: string): Promise<string> => (await article(ann, text).getAttribute('data-id')) ?? ''
        await write(ann, answered)
        await expectOnce(bob, answered)
        const answeredId = await idOf(answered)
        await post(answer, answeredId)
        await write(ann, `${alone} perhaps`)
        await expectNotice(`${alone} perhaps`, WAITS)
        await ann.reload()
        await expectNotice(`${alone} perhaps`, WAITS)

        // Its rejection changes nothing for the public, and is no event for a page.
        const aloneId = await idOf(alone)
        await ok('POST', `/comments/${aloneId}/reject`)
        await expectNotice(`${alone} perhaps`, REJECTED)
        // This one stays in its list, because it has a reply.
        await ok('POST', `/comments/${answeredId}/reject`)
        await expectNotice(answered, REJECTED)
        await vi.waitFor(async () => expect(await bob.getByText(answered, { exact: true }).count()).toBe(0), WAIT)
        await ann.reload()
        await expectNotice(`${alone} perhaps`, REJECTED)
        await expectNotice(answered, REJECTED)
        expect(await bob.getByText(alone).count()).toBe(0)

        for (const verb of ['approve', 'reject', 'approve']) {
          for (const id of [aloneId, answeredId]) await ok('POST', `/comments/${id}/${verb}`)
          if (verb === 'approve') continue
          await expectNotice(`${alone} perhaps`, REJECTED)
          await expectNotice(answered, REJECTED)
        }
        for (const page of [ann, bob]) for (const text of [`${alone} perhaps`, answered]) await expectOnce(page, text)
        await vi.waitFor(async () => expect(await ann.getByText(REJECTED).count()).toBe(0), WAIT)
      })

      test('goes on through a restart of the service', async () => {
        const api = first(service.apis)
        const [text, other] = [note(), note()]
        await post(text)
        for (const page of [ann, bob]) await expectOnce(page, text)
        await api.stop()
        await api.start()
        await post(other)
        for (const page of [ann, bob]) await expectOnce(page, other)
        const own = note()
        await write(ann, own)
        for (const page of [ann, bob]) await expectOnce(page, own)
      })

      test('renews its token after the service has ended it', async () => {
        const { key } = await ok('POST', '/keys', { body: { label: 'the next one', capabilities: [] } })
        const asked = vi.fn<() => void>()
        const headers = { ...(await service.as('ann')), 'x-api-key': key as string }
        await ann.route('**/token', async (route) => {
          asked()
          const json = await ok('POST', '/client-tokens', { body: { externalIds: ['night-trains'] }, headers })
          await route.fulfill({ json })
        })
        // Its client tokens end with it.
        await ok('DELETE', `/keys/${keyId}`)
        const [text, own] = [note(), note()]
        await post(text)
        await expectOnce(ann, text)
        await write(ann, own)
        await expectOnce(ann, own)
        await button(ann, own, 'Like 0').click()
        await button(ann, own, 'Like 1').waitFor()
        expect(asked).toHaveBeenCalled()
      })
    })
  })
})

test.skipIf(findInExamples('@apollo/client') === undefined)('examples/react-native has types that fit', async () => {
  await expectDone(run(TSC, ['-p', join(ROOT, 'examples/react-native')]))
})
