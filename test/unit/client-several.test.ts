import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import {
  openSeveralStream,
  type SeveralStream,
  type SeveralStreamOptions,
  type StreamTicketForSeveral,
} from '../../src/clients/browser/stream.ts'
import { type FakeSource, nextSource, usePage } from '../harness/page.ts'
import { last } from '../harness/processes.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const IDS = ['a', 'b', 'c']

const page = usePage()
let stream: SeveralStream
let read: string[]
const ticket = vi.fn<SeveralStreamOptions['ticket']>()
const onReload = vi.fn<SeveralStreamOptions['onReload']>()
const onGone = vi.fn<NonNullable<SeveralStreamOptions['onGone']>>()
const onError = vi.fn<NonNullable<SeveralStreamOptions['onError']>>()

const ticketFor = (at: Record<string, number>, prefix = '00000001'): StreamTicketForSeveral => ({
  streamUrl: '/stream?ticket=t',
  lastEventId: `${prefix}-${Object.values(at).join('.')}`,
  discussions: Object.entries(at).map(([discussionId, seq]) => ({
    discussionId,
    externalId: `page-${discussionId}`,
    lastEventId: String(seq),
  })),
})

beforeEach(() => {
  read = []
  ticket.mockReset().mockImplementation(() => ticketFor({ a: 1, b: 0, c: 7 }))
  onReload.mockReset().mockResolvedValue(undefined)
  onGone.mockReset()
  onError.mockReset()
})
afterEach(() => stream.close())

async function follow(options: Partial<SeveralStreamOptions> = {}): Promise<FakeSource> {
  stream = openSeveralStream({
    ticket,
    onReload,
    onGone,
    onError,
    onEvent: ({ discussionId, seq }) => read.push(`${discussionId}${seq}`),
    ...options,
  })
  await vi.advanceTimersByTimeAsync(0)
  return last(page.sources)
}

const next = (): Promise<FakeSource> => nextSource(page)

test("begins at the ticket's positions, and at those that the page shows", async () => {
  expect((await follow()).lastEventId).toBe('00000001-1.0.7')
  stream.close()
  const source = await follow({ lastEventIds: { c: '5', elsewhere: '3' } })
  expect(source.lastEventId).toBe('00000001-1.0.5')
  expect(stream.lastEventIds).toEqual({ a: '1', b: '0', c: '5', elsewhere: '3' })
})

test('counts each discussion by itself, and resumes all with a new ticket, also for other discussions', async () => {
  const source = await follow()
  source.connected()
  source.event(2, 'comment_created', 'a')
  source.event(8, 'comment_created', 'c')
  source.event(8, 'comment_created', 'c')
  source.event(1, 'comment_created', 'b')
  expect(read).toEqual(['a2', 'c8', 'b1'])
  ticket.mockReturnValue(ticketFor({ a: 4, c: 9, d: 3 }, '00000002'))
  source.refuse()
  const again = await next()
  expect(again.lastEventId).toBe('00000002-2.8.3')
  again.connected()
  again.event(4, 'comment_created', 'd')
  expect(read.at(-1)).toBe('d4')
})

test('has the page load again what is too old, and goes on from what the page then shows', async () => {
  onReload.mockResolvedValue({ a: '41' })
  const source = await follow()
  source.connected({ lastEventId: '00000001-40.0.90', complete: false, incomplete: ['a', 'c'], gone: [] })
  await vi.advanceTimersByTimeAsync(0)
  expect(onReload).toHaveBeenCalledExactlyOnceWith({ a: '40', c: '90' })
  expect((await next()).lastEventId).toBe('00000001-41.0.90')
})

test('passes on what is not for it at a planned end', async () => {
  const source = await follow()
  source.connected()
  source.emit('connection-timeout', { lastEventId: '00000001-3.0.6' })
  expect(stream.lastEventIds).toEqual({ a: '3', b: '0', c: '7' })
})

test('says which discussions were deleted; the callback may close it', async () => {
  const source = await follow()
  source.connected({ gone: ['b', 'c'] })
  source.emit('discussion-gone', { discussionId: 'a' })
  expect(onGone.mock.calls).toEqual([['b'], ['c'], ['a']])
  stream.close()
  onGone.mockReset().mockImplementation(() => stream.close())
  ticket.mockClear()
  const other = await follow()
  other.connected({ gone: ['b', 'c'] })
  expect(onGone).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

test('asks again where a ticket is none', async () => {
  ticket.mockReturnValueOnce(null as never)
  await expect(follow()).rejects.toThrow('the list is empty')
  expect(page.sources).toHaveLength(0)
  expect(onError).toHaveBeenCalledOnce()
  expect((await next()).lastEventId).toBe('00000001-1.0.7')
})

const misdeed = fc.oneof(
  fc.record({ kind: fc.constant('deliver' as const), of: fc.nat(2), count: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ kind: fc.constant('repeat' as const), of: fc.nat(2), count: fc.integer({ min: 1, max: 8 }) }),
  fc.record({
    kind: fc.constantFrom('drop', 'refuse', 'online', 'freeze', 'goodbye', 'wait', 'noTicket', 'late'),
    of: fc.nat(2),
    count: fc.constant(1),
  }),
)

test('whatever the transport does, each event of each discussion is delivered once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(misdeed, { maxLength: 60 }), async (misdeeds) => {
      ticket.mockReset().mockImplementation(() => ticketFor({ a: 0, b: 0, c: 0 }))
      const begun = page.sources.length
      await follow()
      let heard: { source: FakeSource; at: number[] } | undefined
      let old: FakeSource | undefined
      /** What the service has sent in each discussion. */
      const written = [0, 0, 0]
      /** The present connection, answered by the service from its positions. */
      const connection = async () => {
        while (last(page.sources).readyState === 2 || page.sources.length === begun) {
          await vi.advanceTimersByTimeAsync(SECOND)
        }
        const source = last(page.sources)
        if (heard?.source !== source) {
          old = heard?.source
          const at = source.lastEventId?.slice(9).split('.').map(Number) ?? []
          heard = { source, at }
        }
        if (source.readyState === 0) source.connected()
        return heard
      }
      const send = (source: FakeSource, n: number, seq: number) => source.event(seq, 'comment_created', IDS[n])
      for (const { kind, of, count } of misdeeds) {
        const { source, at } = await connection()
        if (kind === 'deliver') {
          for (let n = 0; n < count; n++) send(source, of, (at[of] = (at[of] ?? 0) + 1))
          written[of] = Math.max(written[of] ?? 0, at[of] ?? 0)
        } else if (kind === 'repeat') {
          const seq = at[of] ?? 0
          for (let n = Math.min(count, seq) - 1; n >= 0; n--) send(source, of, seq - n)
        } else if (kind === 'drop') source.drop()
        else if (kind === 'refuse') source.refuse()
        else if (kind === 'online') page.window.emit('online')
        else if (kind === 'goodbye') source.emit('connection-timeout', { lastEventId: `00000001-${at.join('.')}` })
        else if (kind === 'wait') await vi.advanceTimersByTimeAsync(MINUTE)
        else if (kind === 'late') old?.event((at[of] ?? 0) + 5, 'comment_created', IDS[of])
        else if (kind === 'noTicket') ticket.mockRejectedValueOnce(new Error('no'))
        else for (const name of ['freeze', 'resume']) page.document.emit(name)
      }
      for (const [n, id] of IDS.entries()) {
        const mine = read.filter((each) => each.startsWith(id))
        expect(mine).toEqual(Array.from({ length: mine.length }, (_, index) => `${id}${index + 1}`))
        expect(mine.length).toBeLessThanOrEqual(written[n] ?? 0)
        expect(stream.lastEventIds[id]).toBe(String(mine.length))
      }
      stream.close()
      read = []
    }),
  )
})
