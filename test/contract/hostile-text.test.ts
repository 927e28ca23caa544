import MarkdownIt from 'markdown-it'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { useReaders, useService } from '../harness/service.ts'
import { unnamed } from '../harness/sql.ts'

/** Counts renderings. Plain texts are not rendered. */
const rendered = vi.spyOn(MarkdownIt.prototype, 'render')

const service = useService()
const { ann, eve } = useReaders(service, 'ann', 'eve')

afterAll(() => rendered.mockRestore())
beforeEach(() => void rendered.mockClear())

const HOSTILE = '**[a](http://a.b/(** '.repeat(470).trim()

const post = (path: string, body: object, headers = ann) =>
  service.call('POST', `/discussions/${path}/comments`, { body, headers })
const edit = (id: string, body: string, headers = ann) =>
  service.call('PATCH', `/comments/${id}`, { body: { body }, headers })
const posted = async (page: string, body: object = { body: 'Hello' }, headers = ann) => {
  const { status, json, text } = await post(`by-external/${page}`, body, headers)
  expect(status, text).toBe(201)
  return json
}
const act = async (path: string, body?: object) => {
  await service.ok('POST', path, body)
}

describe('a hostile text is not rendered if', () => {
  const expectRefused = async (request: Promise<{ status: number; json: { code: string } }>, code: string) => {
    rendered.mockClear()
    expect((await request).json.code).toBe(code)
    expect(rendered).not.toHaveBeenCalled()
  }

  test('the discussion, or the parent, does not exist', async () => {
    const { id, discussionId } = await posted('places')
    await expectRefused(post(newId(), { body: HOSTILE }), 'not_found')
    await expectRefused(post('no-id', { body: HOSTILE }), 'not_found')
    await expectRefused(post(discussionId, { body: HOSTILE, parentId: newId() }), 'not_found')
    await expectRefused(post('by-external/nowhere', { body: HOSTILE, parentId: id }), 'not_found')
    await expectRefused(post('by-external/elsewhere', { body: HOSTILE, parentId: 'no-id' }), 'not_found')
  })

  test('the discussion is locked or archived', async () => {
    const { discussionId } = await posted('closed')
    await act(`/discussions/${discussionId}/lock`)
    await expectRefused(post(discussionId, { body: HOSTILE }), 'discussion_locked')
    await act(`/discussions/${discussionId}/archive`)
    await expectRefused(post(discussionId, { body: HOSTILE }), 'discussion_archived')
  })

  test('the thread is too deep', async () => {
    await service.call('PATCH', '/settings', { body: { maxDepth: 1 } })
    const { id, discussionId } = await posted('deep')
    const { id: reply } = await posted('deep', { body: 'Below', parentId: id })
    await expectRefused(post(discussionId, { body: HOSTILE, parentId: reply }), 'validation_failed')
    await service.call('PATCH', '/settings', { body: { maxDepth: 10 } })
  })

  test('the reader is banned, also on a page without a discussion, which is not created', async () => {
    const { discussionId, author } = await posted('banned', { body: 'Hello' }, eve)
    await act(`/readers/${author.id}/ban`, {})
    await expectRefused(post(discussionId, { body: HOSTILE }, eve), 'reader_banned')
    await expectRefused(post('by-external/of-the-banned', { body: 'Hello' }, eve), 'reader_banned')
    expect((await service.call('GET', '/discussions/by-external/of-the-banned')).status).toBe(404)
    await act(`/readers/${author.id}/unban`)
    expect((await post(discussionId, { body: HOSTILE }, eve)).status).toBe(201)
    expect(rendered).toHaveBeenCalledTimes(1)
  })

  test('there is no identity, or no caller', async () => {
    await expectRefused(post('by-external/places', { body: HOSTILE }, {}), 'identity_required')
    await expectRefused(post('by-external/places', { body: HOSTILE }, { 'x-api-key': '' }), 'missing_credentials')
  })

  test('it is an edit that the reader may not make', async () => {
    const { id } = await posted('edits')
    await expectRefused(edit(newId(), HOSTILE), 'not_found')
    await expectRefused(edit('no-id', HOSTILE), 'not_found')
    await expectRefused(edit(id, HOSTILE, eve), 'not_author')
    await service.app.db.query(unnamed("UPDATE comments SET created_at = now() - interval '1 day' WHERE id = $1"), [id])
    await expectRefused(edit(id, HOSTILE), 'edit_window_closed')
  })

  test('it is an edit that changes nothing', async () => {
    const { id } = await posted('same', { body: HOSTILE })
    rendered.mockClear()
    expect((await edit(id, ` ${HOSTILE}\n`)).json).toMatchObject({ body: HOSTILE, revision: 1 })
    expect(rendered).not.toHaveBeenCalled()
  })
})

test.each(['\u200B\u200D', '&nbsp;', '[a]: http://a.example', '# ', '```'])(
  'a text that shows nothing, %j, is 422 blank, posted and as an edit',
  async (body) => {
    const blank = { code: 'validation_failed', errors: [{ pointer: '/body', code: 'blank' }] }
    expect(await post('by-external/blank', { body })).toMatchObject({ status: 422, json: blank })
    const { id } = await posted('not-blank')
    expect(await edit(id, body)).toMatchObject({ status: 422, json: blank })
    expect((await service.call('GET', `/comments/${id}`)).json).toMatchObject({ body: 'Hello', revision: 1 })
  },
)

test('a text of 10 KB is stored as at most 100 KB', async () => {
  const body = `[a]: http://e.com/${'x'.repeat(4900)}\n\n${'![a] '.repeat(1000)}`.trim()
  const { bodyHtml } = await posted('amplified', { body })
  expect(Buffer.byteLength(bodyHtml)).toBeLessThan(100_000)
  expect(bodyHtml).toContain('![a] ![a]')
})

describe('the mutations of one document', () => {
  const create = (texts: readonly string[]) => {
    const fields = texts.map((text, n) => {
      const input = `{ discussion: { externalId: "aliases" }, body: ${JSON.stringify(text)} }`
      return `m${n}: createComment(input: ${input}) { comment { id } }`
    })
    return `mutation { ${fields.join(' ')} }`
  }
  const remaining = ({ headers }: { headers: Headers }) => Number(headers.get('ratelimit-remaining'))

  test('together have as many characters as one comment', async () => {
    const { json } = await service.graphql(
      create(['*a* '.repeat(1500), '*b* '.repeat(900), '*c* '.repeat(1000)]),
      {},
      ann,
    )
    const tooLong = { pointer: '/body', code: 'too_long' }
    expect(json.errors).toMatchObject([{ path: ['m2'], extensions: { errors: [tooLong] } }])
    expect(rendered).toHaveBeenCalledTimes(2)
    expect((await service.graphql(create(['d '.repeat(4999)]), {}, ann)).json.errors).toBeUndefined()
  })

  test.each(['/graphql', '/graphql/stream'])('take a token each at %s', async (path) => {
    const tenant = await service.addTenant(`aliases${path.replaceAll('/', '-')}`)
    const headers = { 'x-api-key': tenant.apiKey, 'content-type': 'application/json', accept: 'text/event-stream' }
    await service.call('PATCH', '/settings', { headers, body: { rateLimit: { perSecond: 1, burst: 20 } } })
    const made = await service.call('POST', '/keys', { headers, body: { label: 'slow', capabilities: [] } })
    const send = (query: string) =>
      fetch(service.url + path, {
        method: 'POST',
        headers: {
          ...headers,
          'x-api-key': made.json.key as string,
          ...(path === '/graphql' ? { accept: '*/*' } : {}),
        },
        body: JSON.stringify({ query }),
      })
    const fields = (count: number) =>
      Array.from({ length: count }, (_, n) => `m${n}: createDiscussion(input: { externalId: "${n}" }) { __typename }`)
    const one = await send(`mutation { ${fields(1).join(' ')} }`)
    expect(remaining(one)).toBe(19)
    await one.text()
    const ten = await send(`mutation { ...F m0: createDiscussion(input: { externalId: "0" }) { __typename } }
      fragment F on Mutation { ${fields(10).join(' ')} }`)
    expect(remaining(ten)).toBeLessThanOrEqual(10)
    await ten.text()
    const thirty = await send(`mutation { ${fields(30).join(' ')} }`)
    expect(thirty.status).toBe(200)
    await thirty.text()
    const refused = await send(`mutation { ${fields(2).join(' ')} }`)
    expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('"rate_limited"')])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(10)
  })
})
