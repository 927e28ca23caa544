import { createServer } from 'node:http'
import { join } from 'node:path'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { build, type Rolldown } from 'vite'

import { open, shut } from '../harness/backends.ts'
import { describeInBrowser, launchBrowser } from '../harness/browser.ts'
import { ROOT } from '../harness/markdown.ts'
import { useService } from '../harness/service.ts'
import { addSite, type TestSite } from '../harness/sites.ts'

const WAIT = { timeout: 30_000, interval: 50 }

const from = (path: string): string => JSON.stringify(join(ROOT, 'src/clients/graphql', path))

/** What the page runs: Apollo Client over the library, and what it has got. */
const SCRIPT = `
import { ApolloClient, gql, InMemoryCache } from '@apollo/client'
import { createGraphqlClient } from ${from('client.ts')}
import { cacheConfig, engagementLink } from ${from('apollo.ts')}

const PAGE = gql\`query ($id: String!) { discussion(by: { externalId: $id }) { id comments(first: 9) { nodes { id body } } } }\`
const POST = gql\`mutation ($input: CreateCommentInput!) {
  createComment(input: $input) { comment { id discussionId author { externalId } } } }\`
const EVENTS = gql\`subscription ($id: ID!, $lastEventId: String!) {
  discussionEvents(discussionId: $id, lastEventId: $lastEventId) { seq data { ... on CommentEventData { comment { id body } } } } }\`

window.begin = ({ url, site, tokens }) => {
  const bodies = []
  const identity = tokens && ((isRefused) => (isRefused ? tokens.at(-1) : tokens[0]))
  const client = createGraphqlClient({ url, site, identity, onError: () => undefined })
  const apollo = new ApolloClient({ link: engagementLink(client), cache: new InMemoryCache(cacheConfig) })
  window.bodies = bodies
  window.read = (id) => apollo.query({ query: PAGE, variables: { id }, fetchPolicy: 'network-only', errorPolicy: 'all' })
    .then(({ data, error }) => (data == null ? String(error) : (data.discussion?.comments.nodes.map(({ body }) => body) ?? null)), (error) => String(error))
  window.post = (externalId, body) => apollo.mutate({ mutation: POST, variables: { input: { discussion: { externalId }, body } } })
    .then(({ data }) => data.createComment.comment, (error) => String(error))
  window.follow = (id) => void apollo.subscribe({ query: EVENTS, variables: { id, lastEventId: '0' } })
    .subscribe(({ data }) => bodies.push(data.discussionEvents.data.comment.body))
}
`

async function bundle(): Promise<string> {
  const entry = '\0page'
  const result = await build({
    configFile: false,
    logLevel: 'silent',
    root: ROOT,
    plugins: [
      {
        name: 'page',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? SCRIPT : null),
      },
    ],
    build: { write: false, minify: false, rolldownOptions: { input: entry } },
  })
  const { output } = result as Rolldown.RolldownOutput
  return output[0].code
}

describeInBrowser('Apollo Client on a page of a site', () => {
  const service = useService()
  let browser: Browser
  let site: TestSite
  let origin: string
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(
      isScript
        ? script
        : '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>',
    )
  })
  let script = ''

  beforeAll(async () => {
    script = await bundle()
    origin = await open(server)
    site = await addSite(service, service, { origins: [origin] })
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await shut(server)
  })

  async function visit(at: string, tokens?: string[]) {
    const page = await browser.newPage()
    await page.goto(at)
    await page.waitForFunction('window.begin')
    const given = { url: `${service.url}/graphql`, site: site.publicKey, ...(tokens && { tokens }) }
    await page.evaluate(`window.begin(${JSON.stringify(given)})`)
    const run = <T>(call: string): Promise<T> => page.evaluate<T>(call)
    return { page, run }
  }

  test('begins its discussion, reads it, and follows it live, with a token that was renewed', async () => {
    const address = JSON.stringify(`${origin}/article`)
    const expired = await site.token({ iat: 1_700_000_000, exp: 1_700_000_600 })
    const { run } = await visit(`${origin}/article`, [expired, await site.token()])
    expect(await run(`window.read(${address})`)).toBe(null)
    const posted = await run<{ discussionId: string; author: object }>(`window.post(${address}, 'The first')`)
    expect(posted).toMatchObject({ author: { externalId: 'ann' } })
    expect(await run(`window.read(${address})`)).toEqual(['The first'])
    await run(`window.follow(${JSON.stringify(posted.discussionId)})`)
    const path = `/discussions/${posted.discussionId}/comments`
    const headers = await service.as('bob')
    expect((await service.call('POST', path, { body: { body: 'The second' }, headers })).status).toBe(201)
    await vi.waitFor(async () => expect(await run('window.bodies')).toEqual(['The first', 'The second']), WAIT)
    // Nobody reads the same.
    const nobody = await visit(`${origin}/article`)
    expect(await nobody.run<string[]>(`window.read(${address})`)).toEqual(['The second', 'The first'])
    expect(await nobody.run(`window.post(${address}, 'x')`)).toContain('token of the tenant')
  })

  test('gets nothing on a page of another origin', async () => {
    const { run } = await visit(origin.replace('127.0.0.1', 'localhost'))
    expect(await run(`window.read(${JSON.stringify(`${origin}/article`)})`)).toMatch(/Failed to fetch/)
  })
})
