import { afterEach, expect, test, vi } from 'vitest'

import { useService } from '../harness/service.ts'

const service = useService()
afterEach(() => void vi.restoreAllMocks())

/** Statements about discussions fail, for no reason that the service knows. */
function failDiscussions(): void {
  const query = service.app.db.query.bind(service.app.db)
  vi.spyOn(service.app.db, 'query').mockImplementation((asked, params) =>
    /FROM discussions/.test(asked.text) ? Promise.reject(new Error('as told')) : query(asked, params),
  )
}

test('a 500 is logged with the request id in its answer', async () => {
  const logged = vi.spyOn(service.app.log, 'error')
  failDiscussions()
  const answers = [
    await service.call('GET', '/discussions'),
    await service.graphql('{ discussions(first: 1) { edges { node { id } } } }'),
  ]
  const ids = answers.map(({ json }) => json.requestId ?? json.errors[0].extensions.requestId)
  expect(answers.map(({ json }) => json.code ?? json.errors[0].extensions.code)).toEqual(ids.map(() => 'internal'))
  expect(logged.mock.calls.map(([about]) => about)).toEqual(
    ids.map((requestId) => expect.objectContaining({ requestId, err: expect.any(Error) })),
  )
})
