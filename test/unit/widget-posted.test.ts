import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { Storage } from '../../src/clients/widget/storage.ts'

const channels: Channel[] = []
class Channel {
  isOpen = true
  hear: ((message: { data: unknown }) => void) | undefined
  readonly postMessage = vi.fn<(data: unknown) => void>()
  readonly name: string
  constructor(name: string) {
    this.name = name
    channels.push(this)
  }
  addEventListener(_name: string, listener: Channel['hear']) {
    this.hear = listener
  }
  close() {
    this.isOpen = false
  }
}
let page: EventTarget
const openOnes = () => channels.filter(({ isOpen }) => isOpen)
const PAGE = '/engagement:article:'

/** What is read of an element that shows the page of a site to Ann. */
function fakeThread(discussionId?: string) {
  const storage = new Storage(`${PAGE}ann`)
  storage.setDraft('new', 'My words', { Bob: 'b' })
  const rest = { isConnected: true, panel: null, busy: new Set(), hasAttribute: () => true }
  return { ...rest, discussionId, storage, signedOut: new Storage(PAGE), update: vi.fn(), reload: vi.fn() }
}

async function open(thread: ReturnType<typeof fakeThread>) {
  const posted = await import('../../src/clients/widget/writing/posted.ts')
  posted.hearPosts(thread as never)
  return posted
}

const tell = (data: unknown) => openOnes().forEach(({ hear }) => hear?.({ data }))
const textIn = ({ storage }: ReturnType<typeof fakeThread>) => storage.draft('new').text

beforeEach(() => {
  vi.useFakeTimers()
  vi.resetModules()
  channels.length = 0
  page = new EventTarget()
  vi.stubGlobal('BroadcastChannel', Channel)
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('a text goes where another tab has posted the same draft, and stays where that was another one', async () => {
  const thread = fakeThread('d')
  const { tellPost } = await open(thread)
  const { key } = thread.storage.draft('new')
  tellPost(thread as never, 'new', key)
  const message = channels[0]?.postMessage.mock.lastCall?.[0] as object
  // Another draft of the same text may be another reader's, or mention others.
  tell({ ...message, text: 'My words', key: 'other' })
  expect(textIn(thread)).toBe('My words')
  tell(message)
  expect([textIn(thread), thread.update.mock.calls.length, thread.reload.mock.calls.length]).toEqual(['', 1, 0])
  expect(channels.map(({ name }) => name)).toEqual(['engagement-posted 1'])
})

test('a message of another form changes nothing', async () => {
  const thread = fakeThread()
  await open(thread)
  const of = thread.signedOut.name
  for (const data of [
    null,
    undefined,
    'new',
    { page: of },
    { page: of, place: 'new' },
    { page: of, place: 'new', key: '' },
  ])
    tell(data)
  await vi.advanceTimersByTimeAsync(10_000)
  expect([textIn(thread), thread.reload.mock.calls.length]).toEqual(['My words', 0])
})

test('a page without comments loads again at a random time after the first one', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
  const threads = [fakeThread(), fakeThread()]
  for (const thread of threads) await open(thread)
  tell({ page: threads[0]?.signedOut.name, place: 'new', key: 'k' })
  await vi.advanceTimersByTimeAsync(999)
  expect(threads[0]?.reload).not.toHaveBeenCalled()
  // It has learnt of the comment otherwise.
  Object.assign(threads[1] as object, { discussionId: 'd' })
  await vi.advanceTimersByTimeAsync(1)
  expect(threads.map(({ reload }) => reload.mock.calls.length)).toEqual([1, 0])
  vi.restoreAllMocks()
})

test('a page that the browser keeps has no channel open, and hears again once it is back', async () => {
  const thread = fakeThread('d')
  await open(thread)
  page.dispatchEvent(new Event('pagehide'))
  expect(openOnes()).toHaveLength(0)
  page.dispatchEvent(new Event('pageshow'))
  expect(openOnes()).toHaveLength(1)
  tell({ page: thread.signedOut.name, place: 'new', key: thread.storage.draft('new').key })
  expect(textIn(thread)).toBe('')
})
