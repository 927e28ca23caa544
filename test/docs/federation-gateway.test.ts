import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

import { parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { findInExamples } from '../harness/examples.ts'
import { ROOT } from '../harness/markdown.ts'
import { freePort } from '../harness/ports.ts'
import { useService } from '../harness/service.ts'
import { statementsOf } from '../harness/statements.ts'

const isHere = findInExamples('@apollo/gateway') !== undefined

describe.skipIf(!isHere)(
  `examples/federation: Apollo's gateway over two subgraphs${isHere ? '' : ' (skipped: npm ci --prefix examples)'}`,
  () => {
    const service = useService()
    let gateway: ChildProcess
    let url: string

    beforeAll(async () => {
      for (const [page, reader] of [
        ['article-1', 'reader-1'],
        ['article-2', 'reader-2'],
      ] as const) {
        const headers = await service.as(reader, { name: reader.toUpperCase() })
        const path = `/discussions/by-external/${page}/comments`
        await service.ok('POST', path, { body: `On ${page}.` }, headers)
      }
      const { json } = await service.call('POST', '/keys', { body: { label: 'gateway', capabilities: [] } })
      const [port, articles] = [await freePort(), await freePort()]
      url = `http://127.0.0.1:${port}`
      gateway = spawn(process.execPath, [join(ROOT, 'examples/federation/gateway.mjs')], {
        env: {
          ...process.env,
          BASE: service.url,
          ENGAGEMENT_API_KEY: json.key,
          GATEWAY_PORT: String(port),
          ARTICLES_PORT: String(articles),
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await Promise.race([
        once(gateway.stdout as NonNullable<typeof gateway.stdout>, 'data'),
        once(gateway, 'exit').then(([code]) => Promise.reject(new Error(`the gateway has ended with ${code}`))),
      ])
    })
    afterAll(async () => {
      if (gateway?.exitCode === null && gateway.kill()) await once(gateway, 'exit')
    })

    async function ask(query: string, headers: Record<string, string> = {}): Promise<unknown> {
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) })
      return response.json()
    }

    const PAGE = `{ articles { title author { name } discussion { externalId commentCount
      comments(first: 5) { nodes { body author { name } } } } } }`

    const discussionOf = (n: number) => ({
      externalId: `article-${n}`,
      commentCount: 1,
      comments: { nodes: [{ body: `On article-${n}.`, author: { name: `READER-${n}` } }] },
    })

    test('one query goes through both; who has not written is null, and a page without comments has none', async () => {
      expect(await ask(PAGE)).toMatchObject({
        data: {
          articles: [
            { title: 'The first', author: { name: 'READER-1' }, discussion: discussionOf(1) },
            { title: 'The second', author: { name: 'READER-2' }, discussion: discussionOf(2) },
            {
              title: 'The third',
              author: { name: null },
              discussion: { externalId: 'never-commented', commentCount: 0, comments: { nodes: [] } },
            },
          ],
        },
      })
    })

    test('the entities of a query come together', async () => {
      const { statements } = await statementsOf(service, () => ask(PAGE))
      for (const name of ['discussions_by_ids', 'reader_ids_by_external_id', 'readers_in_view'])
        expect(statements.filter((each) => each === name)).toEqual([name])
    })

    test('a reader who has written is known, and one whom nobody may see any more is null', async () => {
      const headers = await service.as('reader-nobody-knows', { name: 'Now known' })
      const path = '/discussions/by-external/never-commented/comments'
      const { json } = await service.call('POST', path, { body: { body: 'New.' }, headers })
      const authors = '{ articles { author { name } } }'
      const told = (name: string | null) => ({
        data: { articles: ['READER-1', 'READER-2', name].map((each) => ({ author: { name: each } })) },
      })
      expect(await ask(authors)).toEqual(told('Now known'))
      await service.call('POST', `/comments/${json.id}/reject`)
      expect(await ask(authors)).toEqual(told(null))
    })

    test('no field of the service stands beside those of the articles', async () => {
      expect(await ask('{ __schema { queryType { fields { name } } mutationType { name } } }')).toMatchObject({
        data: { __schema: { queryType: { fields: [{ name: 'articles' }] }, mutationType: null } },
      })
    })

    test("Apollo's composition takes the subgraph as well", async () => {
      const { text } = await service.call('GET', '/../../graphql/sdl')
      const { composeServices } = (await import(findInExamples('@apollo/composition') ?? '')) as {
        composeServices(services: object[]): { errors?: Error[]; supergraphSdl?: string }
      }
      const { errors, supergraphSdl } = composeServices([
        { name: 'engagement', url: service.url, typeDefs: parse(text) },
        { name: 'articles', url: service.url, typeDefs: parse('type Query { articles: [String!]! }') },
      ])
      expect(errors).toBeUndefined()
      expect(supergraphSdl).toContain('type Discussion')
    })
  },
)
