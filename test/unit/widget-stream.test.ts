import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import type { DiscussionStream, StreamEvent, StreamOptions } from '../../src/clients/browser/stream.ts'
import { openStream } from '../../src/clients/widget/stream.ts'
import { type FakePage, stubPage } from '../harness/page.ts'

type Recipient = string | null | undefined

let page: FakePage
let thread: ReturnType<typeof fakeThread>
let options: ReturnType<typeof fakeOptions>
let stream: DiscussionStream | undefined

const HOUR_MS = 3_600_000
const ticketFor = (recipient: Recipient, forMs = HOUR_MS) => ({
  streamUrl: '/stream/d?ticket=t',
  lastEventId: '3',
  expiresAt: new Date(Date.now() + forMs).toISOString(),
  ...(recipient !== undefined && { recipient: recipient && { readerId: `id of ${recipient}`, externalId: recipient } }),
})

/** What a stream reads of an element that shows its page to `me`. */
const fakeThread = (me: string | null) => ({
  backend: '/engagement',
  discussion: 'article',
  discussionId: 'd',
  me: me === null ? null : { id: me },
  pages: {
    ticket: vi.fn(() => Promise.resolve(ticketFor(me))),
    me: vi.fn<() => Promise<{ reader: { id: string } | null }>>(() =>
      Promise.resolve({ reader: me === null ? null : { id: me } }),
    ),
  },
  /** The ticket that came with the page. */
  ticket: null as ReturnType<typeof ticketFor> | null,
  isPast: (time: string) => Date.parse(time) <= Date.now(),
  reload: vi.fn(),
  update: vi.fn(),
  getAttribute: () => null,
})

const fakeOptions = () => ({
  lastEventId: '3',
  onEvent: vi.fn<(event: StreamEvent) => void>(),
  onReload: vi.fn<StreamOptions['onReload']>(),
  onError: vi.fn(),
})

beforeEach(() => {
  vi.useFakeTimers()
  page = stubPage()
  vi.stubGlobal('navigator', {})
  options = fakeOptions()
})
afterEach(() => {
  stream?.close()
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const settle = () => vi.advanceTimersByTimeAsync(0)
const lastSource = () => page.sources.at(-1)

/** The tab opens its stream with the ticket that came with the page, if any. */
async function open(me: string | null, first: ReturnType<typeof ticketFor> | null): Promise<void> {
  thread = fakeThread(me)
  await openAgain(first)
}

async function openAgain(first: ReturnType<typeof ticketFor> | null): Promise<void> {
  stream?.close()
  thread.ticket = first
  stream = openStream(thread as never, options)
  await settle()
  lastSource()?.connected()
}

/** The tab needs another ticket, which names `recipient`. */
async function renew(recipient: Recipient): Promise<void> {
  thread.pages.ticket.mockImplementation(() => Promise.resolve(ticketFor(recipient)))
  page.window.emit('online')
  await settle()
  lastSource()?.connected()
}

const replyTo = (externalId: string, seq: number) =>
  lastSource()?.emit('notification_reply', { type: 'notification_reply', seq, data: { recipient: { externalId } } })
const seqs = () => options.onEvent.mock.calls.map(([{ seq }]) => seq)

test('the replies of a merged reader come, whose tickets name the reader who stayed', async () => {
  await open('ann', ticketFor('anna'))
  expect(thread.pages.ticket).not.toHaveBeenCalled()
  replyTo('anna', 4)
  replyTo('bob', 5)
  await renew('anna')
  expect(thread.pages.ticket).toHaveBeenCalledTimes(1)
  replyTo('anna', 6)
  expect(thread.reload).not.toHaveBeenCalled()
  expect(seqs()).toEqual([4, 6])
})

test('where no ticket came with the page, the first one says whom they name', async () => {
  thread = fakeThread('ann')
  thread.pages.ticket.mockResolvedValue(ticketFor('anna'))
  await openAgain(null)
  expect(thread.pages.ticket).toHaveBeenCalledTimes(1)
  replyTo('anna', 4)
  expect(seqs()).toEqual([4])
  // The page shows whose comments are the reader's own.
  expect(thread.ticket).toEqual(ticketFor('anna'))
  expect(thread.update).toHaveBeenCalled()
  await renew('bob')
  expect(thread.reload).toHaveBeenCalledTimes(1)
})

test.each<[string, string | null, ReturnType<typeof ticketFor> | null, string | null]>([
  ['another reader', 'ann', ticketFor('ann'), 'bob'],
  ['another reader, where that of the page is over', 'ann', ticketFor('ann', -1), 'bob'],
  ['nobody', 'ann', null, null],
  ['a reader, on a page that shows nobody', null, null, 'bob'],
])('a thread loads again once with a ticket for %s', async (_whom, me, first, other) => {
  thread = fakeThread(me)
  thread.pages.ticket.mockResolvedValue(ticketFor(other))
  await openAgain(first)
  if (thread.reload.mock.calls.length === 0) await renew(other)
  expect(thread.reload).toHaveBeenCalledTimes(1)
  // The page still shows the first reader, perhaps from a cache.
  thread.pages.ticket.mockClear()
  await openAgain(me === null ? null : ticketFor(me, -1))
  expect(thread.pages.ticket).toHaveBeenCalledTimes(1)
  expect(thread.reload).toHaveBeenCalledTimes(1)
  expect(lastSource()?.readyState).toBe(1)
})

test('a page whose first ticket is for another reader who has signed in shows nothing as theirs', async () => {
  thread = fakeThread('ann')
  thread.pages.ticket.mockResolvedValue(ticketFor('bob'))
  thread.pages.me.mockResolvedValue({ reader: { id: 'bob' } })
  await openAgain(null)
  expect(thread.reload).toHaveBeenCalledTimes(1)
  expect([thread.ticket, page.sources.length]).toEqual([null, 0])
  // The page still shows the first reader, perhaps from a cache.
  await openAgain(null)
  expect(thread.reload).toHaveBeenCalledTimes(1)
  expect([thread.ticket, page.sources.length]).toEqual([null, 1])
})

test('a ticket that comes after the page shows another reader is not the ticket of the page', async () => {
  await open('ann', ticketFor('ann'))
  const [, ofBob] = [page.window.emit('online'), ticketFor('bob')]
  Object.assign(thread, { me: { id: 'bob' }, ticket: ofBob })
  await settle()
  expect(thread.ticket).toBe(ofBob)
  // Other tabs of the first reader may follow this stream.
  await renew('bob')
  expect(thread.reload).toHaveBeenCalledTimes(1)
})

test('a ticket that comes after the thread has ended its stream loads nothing', async () => {
  await open('ann', ticketFor('ann'))
  thread.pages.ticket.mockImplementation(() => Promise.resolve(ticketFor('bob')))
  page.window.emit('online')
  stream?.close()
  await settle()
  expect(thread.reload).not.toHaveBeenCalled()
})

/** Makes the tab the leader. Returns what it tells other tabs. */
function leadOthers() {
  const tell = vi.fn<(told: { event?: StreamEvent } | null) => void>()
  class Channel {
    addEventListener() {}
    postMessage = tell
    close() {}
  }
  vi.stubGlobal('BroadcastChannel', Channel)
  const request = (_name: string, _options: object, run: () => Promise<void>) => Promise.resolve().then(run)
  vi.stubGlobal('navigator', { locks: { request } })
  return () => tell.mock.calls.flatMap(([told]) => told?.event?.seq ?? [])
}

test('a leader tells other tabs no events of another reader while its thread fails to load again', async () => {
  const told = leadOthers()
  await open('ann', ticketFor('ann'))
  lastSource()?.event(4)
  await renew('bob')
  expect(thread.reload).toHaveBeenCalledTimes(1)
  expect(page.sources).toHaveLength(1)
  // The thread still shows the first reader.
  await vi.advanceTimersByTimeAsync(1000)
  lastSource()?.connected()
  lastSource()?.event(5)
  expect(seqs()).toEqual([4, 5])
  expect(told()).toEqual([4])
})

test('a tab whose first ticket came late, and may be of another reader, tells other tabs no events', async () => {
  const told = leadOthers()
  thread = fakeThread('ann')
  thread.pages.ticket.mockResolvedValue(ticketFor('anna'))
  await openAgain(null)
  lastSource()?.event(4)
  expect(seqs()).toEqual([4])
  expect(told()).toEqual([])
})

test('a ticket that names nobody is used, and no event is lost', async () => {
  thread = fakeThread('ann')
  thread.pages.ticket.mockResolvedValue(ticketFor(undefined))
  await openAgain(null)
  expect(thread.pages.ticket).toHaveBeenCalledTimes(1)
  expect(lastSource()?.lastEventId).toBe('3')
  lastSource()?.event(4)
  replyTo('ann', 5)
  replyTo('bob', 6)
  expect(seqs()).toEqual([4, 5])
  expect(thread.reload).not.toHaveBeenCalled()
})

test('a page that was loaded again for another reader has the stream of that reader', async () => {
  await open('ann', ticketFor('ann'))
  options.onReload.mockImplementation(() => {
    Object.assign(thread, { me: { id: 'bob' }, ticket: ticketFor('bob') })
    return Promise.resolve('9')
  })
  lastSource()?.drop()
  lastSource()?.connected({ complete: false })
  await vi.advanceTimersByTimeAsync(1000)
  expect(lastSource()?.lastEventId).toBe('9')
  lastSource()?.connected()
  replyTo('bob', 10)
  expect(seqs()).toEqual([10])
  expect(thread.pages.ticket).not.toHaveBeenCalled()
  expect(thread.reload).not.toHaveBeenCalled()
})
