import { expect, test, vi } from 'vitest'

import { says, useClassifiers } from '../harness/classifiers.ts'
import { hang, isGenuine } from '../harness/receiver.ts'

const classifiers = useClassifiers(true)
const { asked, classify, isDecided, post, set } = classifiers

test('without a verdict the fallback holds or approves: no answer within 2 s', async () => {
  for (const [fallback, status] of [
    ['approve', 'approved'],
    ['hold', 'pending'],
  ] as const) {
    await classify(hang, fallback)
    const began = Date.now()
    const { id } = await post(`fallback ${fallback}`)
    await isDecided()
    expect((await classifiers.service.call('GET', `/comments/${id}`)).json.status).toBe(status)
    expect(asked()).toHaveLength(1)
    expect(Date.now() - began).toBeGreaterThanOrEqual(2000)
  }
})

test('a hanging classifier delays no other tenant', async () => {
  await classify(hang)
  const other = await classifiers.service.addTenant('quick')
  const key = { 'x-api-key': other.apiKey }
  const made = (await classifiers.service.call('POST', '/classifier-secrets', { headers: key })).json
  classifiers.receiver.on('/quick', says('approve'))
  await classifiers.service.ok('PATCH', '/settings', { classifier: { url: `${classifiers.receiver.url}/quick` } }, key)
  await Promise.all(Array.from({ length: 40 }, (_, n) => post(`${n}`, { reader: `h-${n}` })))
  await vi.waitFor(() => expect(asked().length).toBeGreaterThan(0))
  const began = asked().length
  const headers = { ...key, ...(await other.as('ann')) }
  const json = await classifiers.service.ok('POST', '/discussions/by-external/x/comments', { body: 'x' }, headers)
  await vi.waitFor(
    async () =>
      expect((await classifiers.service.call('GET', `/comments/${json.id}`, { headers })).json.status).toBe('approved'),
    { interval: 20, timeout: 10_000 },
  )
  // The hanging ones are still the first ones: none was waited for.
  expect(began).toBeLessThanOrEqual(32)
  const [question] = classifiers.receiver.requests.filter((request) => request.path === '/quick')
  expect(isGenuine(question!, { [made.kid]: made.secret })).toBe(true)
  await set({ classifier: null })
})
