import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { findInExamples } from '../harness/examples.ts'
import { readPages, ROOT } from '../harness/markdown.ts'
import { startService, type TestService } from '../harness/service.ts'

const [CONFIG = '', RUN = '', CLIENTS = ''] = readPages()
  .filter(({ path }) => path === 'docs/guides/graphql/codegen.md')
  .flatMap(({ blocks }) => blocks.filter(({ language }) => language === 'ts'))
  .map(({ content }) => content)

const PAGE = `import { graphql } from './gql'

export const Row = graphql(\`fragment Row on Comment { id status createdAt author { id name } }\`)
export const Page = graphql(\`
  query Page($externalId: String!) {
    discussion(by: { externalId: $externalId }) { id comments { nodes { ...Row } } }
  }
\`)
export const Live = graphql(\`
  subscription Live($id: ID!) {
    discussionEvents(discussionId: $id, lastEventId: "0") {
      seq data { ... on CommentEventData { comment { ...Row } } }
    }
  }
\`)`

/** A program that asks by each client, and prints what it gets. */
const MAIN = `import { ApolloClient, InMemoryCache } from '@apollo/client'
import { Client } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { createGraphqlClient } from 'engagement-service/graphql'
import * as apollo from 'engagement-service/graphql/apollo'
import * as urql from 'engagement-service/graphql/urql'
import { apolloLink, urqlExchange } from './clients'
import { Live, Page } from './page'
import { run } from './run'

declare const process: { argv: string[]; exit(): never }
const [url = '', token = '', id = ''] = process.argv.slice(2)
const client = createGraphqlClient({ url, token: () => ({ token, expiresAt: '2999-01-01T00:00:00Z' }) })
const byApollo = new ApolloClient({
  link: apolloLink.concat(apollo.engagementLink(client)),
  cache: new InMemoryCache(apollo.cacheConfig),
})
const byUrql = new Client({
  url,
  exchanges: [cacheExchange(urql.cacheConfig), urqlExchange, urql.engagementExchange(client)],
})
const variables = { externalId: 'article-1' }
const pages = [
  (await run(client, Page, variables)).data,
  (await byApollo.query({ query: Page, variables })).data,
  (await byUrql.query(Page, variables).toPromise()).data,
]
const live = await Promise.all([
  new Promise((resolve) => byApollo.subscribe({ query: Live, variables: { id } }).subscribe(({ data }) => resolve(data))),
  new Promise((resolve) => byUrql.subscription(Live, { id }).subscribe(({ data }) => resolve(data))),
])
const names = pages.map((page) => page?.discussion?.comments.nodes.map(({ author }) => author?.name))
console.log(JSON.stringify([names, live.map((data) => (data as { discussionEvents: { seq: number } }).discussionEvents.seq)]))
process.exit()`

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable', 'esnext.disposable'],
    skipLibCheck: true,
    verbatimModuleSyntax: true,
    noEmit: true,
    types: [],
  },
  include: ['src'],
}

const missing = findInExamples('@graphql-codegen/cli') === undefined ? ' (skipped: npm ci --prefix examples)' : ''

describe.skipIf(missing !== '')(`a site that uses graphql-codegen as its guide says${missing}`, () => {
  let site: string
  let service: TestService
  beforeAll(async () => {
    // Beside the packages of the examples.
    site = mkdtempSync(join(ROOT, 'examples/codegen-'))
    const own = join(site, 'node_modules/engagement-service')
    for (const name of ['package.json', 'schema.graphql', 'dist/clients'])
      cpSync(join(ROOT, name), join(own, name), { recursive: true })
    mkdirSync(join(site, 'src'))
    write('package.json', '{"type":"module"}')
    write('tsconfig.json', JSON.stringify(TSCONFIG))
    write('codegen.ts', CONFIG)
    for (const [name, content] of Object.entries({ run: RUN, clients: CLIENTS, page: PAGE, main: MAIN }))
      write(`src/${name}.ts`, content)
    service = await startService({ worker: false })
  })
  afterAll(async () => {
    rmSync(site, { recursive: true })
    await service?.close()
  })
  const write = (name: string, content: string): void => writeFileSync(join(site, name), content)
  const run = (program: string, ...args: string[]) =>
    new Promise<{ output: string; isDone: boolean }>((resolve) => {
      const { PATH, HOME } = process.env
      execFile(process.execPath, [program, ...args], { cwd: site, env: { PATH, HOME } }, (error, stdout, stderr) =>
        resolve({ output: stdout + stderr, isDone: error === null }),
      )
    })
  const generate = () => run('../node_modules/@graphql-codegen/cli/cjs/bin.js', '--config', 'codegen.ts')

  test('has types, and ids that its clients send where known documents alone are run', async () => {
    expect(await generate()).toMatchObject({ isDone: true })
    expect(await run('../node_modules/typescript/bin/tsc', '-p', '.')).toEqual({ output: '', isDone: true })

    const headers = await service.as('ann')
    const path = '/discussions/by-external/article-1/comments'
    const { discussionId } = (await service.call('POST', path, { body: { body: 'Hello' }, headers })).json
    await service.call('PATCH', '/settings', { body: { graphql: { documents: 'known' } } })
    const manifest: unknown = JSON.parse(readFileSync(join(site, 'src/gql/persisted-documents.json'), 'utf8'))
    expect((await service.call('POST', '/documents', { body: { manifest } })).status).toBe(200)
    const { token } = (await service.call('POST', '/client-tokens', { body: {} })).json
    const bundle = await rolldown({ input: join(site, 'src/main.ts'), cwd: site, platform: 'node' })
    await bundle.write({ dir: site, entryFileNames: 'main.mjs' })
    await bundle.close()
    const { output } = await run('main.mjs', `${service.url}/graphql`, token, discussionId)
    expect(output).toContain('[[["Reader ann"],["Reader ann"],["Reader ann"]],[1,1]]')
  })

  test('is told of a field that does not exist', async () => {
    write(
      'src/wrong.ts',
      PAGE.replace('createdAt', 'creatdAt').replaceAll(/(fragment|query|subscription) /g, '$1 Wrong'),
    )
    const { output, isDone } = await generate()
    expect([isDone, output]).toEqual([
      false,
      expect.stringContaining('Cannot query field "creatdAt" on type "Comment"'),
    ])
  })
})
