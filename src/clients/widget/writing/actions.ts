import type { PageComment, RequestError } from '../backend.ts'
import type { Storage } from '../storage.ts'
import type { Panel, Popup, Thread } from '../thread.ts'
import { closePanel, editOf, keep, noteOf, reportOf, setPanel } from './fields.ts'
import { recountOf } from './bell.ts'
import { kit } from './kit.ts'
import { beginPost, isAway, isLost, isOtherReader, isTakenBack, isWaiting, stopWaiting, waitForLine } from './line.ts'
import { bodyOf, draftOf } from './mentions.ts'
import { tellPost } from './posted.ts'
import { type Writes, writesFor } from './writes.ts'

const writesOf = (thread: Thread): Writes => writesFor(kit.ask, thread)

export const post = (thread: Thread, parent: PageComment | null): Promise<void> => {
  const place = parent?.id ?? kit.NEW
  return kit.act(thread, place, 'post', async () => {
    const { storage, words } = thread
    const writes = writesOf(thread)
    const draft = storage.draft(place)
    const { text, key } = draft
    if (text.trim() === '') return
    const sent = { body: bodyOf(draft), ...(parent && { parentId: parent.id }) }
    const undo = (): void => {
      // A further post of this text has its own key: this one is of the comment to delete.
      storage.setDraft(place, text)
      removeLost(thread, storage, sent, key)
    }
    let mayBeTaken = isLost(thread, place)
    const wait = (): void =>
      waitForLine(thread, place, storage, () => post(thread, parent), mayBeTaken ? undo : undefined)
    // It is tried all the same: a browser may be wrong about its line.
    const { isOffline } = thread
    const isRetry = isWaiting(thread, place)
    if (isOffline) wait()
    const waited = isWaiting(thread, place)
    beginPost(thread, place)
    const isMeant = (): boolean => !isTakenBack(thread, place) && (!waited || isWaiting(thread, place))
    const isWanted = (): boolean => isMeant() && (parent === null || isReplyOpen(thread, parent.id))
    const send = async (): Promise<PageComment | undefined> => {
      if (isRetry && (await isOtherReader(thread))) stopWaiting(thread, place)
      if (!isWanted()) return undefined
      return writes.post(sent, key, isMeant)
    }
    const comment = await send().catch((error: RequestError) => {
      if (!isOffline && kit.isPassing(error)) mayBeTaken = true
      // The reader may have taken it back meanwhile.
      if (isAway(error)) return isWanted() ? wait() : undefined
      stopWaiting(thread, place)
      // The service would repeat a refusal under this key for a day, so the draft gets a new key.
      // Without an answer the write may have succeeded, so it keeps its key.
      if (!kit.isPassing(error)) storage.setDraft(place, text)
      else if (isTakenBack(thread, place)) return undefined
      throw error
    })
    if (comment && isTakenBack(thread, place) && (await removeAgain(writes, comment))) {
      // Its event may have shown it.
      if (thread.storage === storage) thread.state.remove(comment.id)
      // Under its key, the service would answer with the comment that is gone.
      storage.setDraft(place, text)
      return
    }
    if (!comment) {
      if (mayBeTaken && isTakenBack(thread, place)) undo()
      return
    }
    stopWaiting(thread, place)
    storage.setDraft(place, '')
    tellPost(thread, place, key)
    if (parent && !thread.state.list(parent.id).isLoaded && parent.replyCount > 0) {
      await kit.loadMore(thread, parent.id)
    }
    show(thread, storage, comment)
    if (parent && isReplyOpen(thread, parent.id)) setPanel(thread, null)
    thread.status = words.text(comment.status === 'pending' ? 'awaiting' : 'posted')
    thread.emit('posted', { comment })
    // The first comment of a site's page has begun its discussion, and with it the stream.
    if (!thread.discussionId && thread.hasAttribute('site')) thread.reload()
    await thread.focusOn(`#c-${comment.id}`)
  })
}

/** Whether a comment that was taken back too late is gone. One that stays is shown. */
const removeAgain = (writes: Writes, { id }: PageComment): Promise<boolean> =>
  writes.remove(id).then(
    () => true,
    () => false,
  )

/**
 * Deletes a post that was taken back after its answer was lost, once there is a line. The service
 * may not have taken it.
 */
function removeLost(thread: Thread, storage: Storage, sent: Post, key: string): void {
  const writes = writesOf(thread)
  const send = async (): Promise<void> => {
    stopWaiting(thread, key)
    try {
      const comment = await takenUnder(writes, sent, key)
      if (!comment) return
      await writes.remove(comment.id)
      if (thread.storage === storage) thread.state.remove(comment.id)
      void thread.update()
    } catch (error) {
      if (kit.isPassing(error as RequestError)) removeLost(thread, storage, sent, key)
    }
  }
  waitForLine(thread, key, storage, send)
}

interface Post {
  body: string
  parentId?: string
}

/**
 * The comment that was posted under this key, or null. It posts nothing: under a new key, the
 * service refuses a post without a text, and under a key that it knows, another request. Once it
 * has refused, it takes no late request under the key either.
 */
const takenUnder = (writes: Writes, sent: Post, key: string): Promise<PageComment | null> =>
  writes.post({ ...sent, body: '' }, key, always).catch((error: RequestError) => {
    if (error.code === 'idempotency_conflict') return writes.post(sent, key, always)
    if (kit.isPassing(error)) throw error
    return null
  })

const always = (): boolean => true

const isReplyOpen = ({ panel }: Thread, id: string): boolean => panel?.id === id && panel.kind === 'reply'

/**
 * Shows what the reader has written, on the thread's present state, which may have been loaded
 * again, unless it belongs to another reader now.
 */
function show(thread: Thread, storage: Storage, comment: PageComment): void {
  if (thread.storage === storage) thread.state.add(comment)
}

/** Replaces the text that the reader has seen, and no later one of another device. */
export const saveEdit = (thread: Thread, comment: PageComment): Promise<void> =>
  kit.act(thread, editOf(comment.id), 'edit', async () => {
    const { id, body } = comment
    const { storage } = thread
    const text = bodyOf(storage.draft(editOf(id)))
    if (text.trim() !== '' && text !== body) {
      const edited = await edit(thread, comment, text).catch(async (error: RequestError) => {
        if (!(await isChanged(thread, storage, comment, error))) throw error
      })
      // Both texts are shown, and the reader decides.
      if (!edited) return
      show(thread, storage, edited)
    }
    storage.setDraft(editOf(id), '')
    closePanel(thread, { id, kind: 'edit' })
  })

/** A service of an earlier release, behind a rolling upgrade, knows no `revision`. */
const edit = (thread: Thread, { id, revision }: PageComment, text: string): Promise<PageComment> =>
  writesOf(thread)
    .edit(id, text, revision)
    .catch((error: RequestError) => {
      if (error.code === 'unknown_field') return writesOf(thread).edit(id, text)
      throw error
    })

/** Whether an edit was refused because the comment is another by now, which is shown then. */
async function isChanged(
  thread: Thread,
  storage: Storage,
  { id, revision }: PageComment,
  { code }: RequestError,
): Promise<boolean> {
  if (code !== 'invalid_transition') return false
  const news = await thread.pages.comment(id)
  if (news) show(thread, storage, news)
  return news !== null && news.revision !== revision
}

export const remove = (thread: Thread, comment: PageComment): Promise<void> =>
  kit.act(thread, comment.id, 'delete', async () => {
    await writesOf(thread).remove(comment.id)
    thread.state.remove(comment.id)
    if (thread.panel?.kind === 'delete') setPanel(thread, null)
    // The reader may have begun a text below it meanwhile.
    keep(thread, thread.state)
    thread.status = thread.words.text('deleted')
    await thread.focusOn('#title')
  })

export const react = (thread: Thread, { id, viewerReaction }: PageComment, type: string): Promise<void> =>
  kit.act(thread, id, 'react', async () => {
    const answer = await writesOf(thread).react(id, viewerReaction === type ? null : type)
    const { comments } = thread.state
    const comment = comments.get(id)
    if (comment) comments.set(id, { ...comment, reactionCounts: answer.reactionCounts, viewerReaction: answer.type })
    closePopup(thread, { id, kind: 'react' })
    // Its button is gone.
    if (!thread.settings.reactionTypes.includes(type)) void thread.focusOn(`#c-${id}`)
  })

export const report = (thread: Thread, { id }: PageComment, form: HTMLFormElement): Promise<void> =>
  kit.act(thread, id, 'report', async () => {
    const { storage } = thread
    await writesOf(thread)
      .report(id, Object.fromEntries(new FormData(form)))
      .catch((error: RequestError) => {
        if (error.code === 'already_reported') storage.setDraft(reportOf(id), 'sent')
        throw error
      })
    storage.setDraft(reportOf(id), 'sent')
    storage.setDraft(noteOf(id), '')
    closePanel(thread, { id, kind: 'report' })
    thread.status = thread.words.text('reported')
    thread.errors.set(id, kit.notice(thread.status))
  })

/** The signed-in reader sees no texts of this one, or sees them again. */
export const mute = (thread: Thread, { id, author }: PageComment, isMuted: boolean): Promise<void> =>
  kit.act(thread, id, 'mute', async () => {
    if (!author) return
    const { muted } = thread.state
    await writesOf(thread).mute(author.id, isMuted)
    if (isMuted) muted.add(author.id)
    else muted.delete(author.id)
    recountOf(thread)
    await thread.focusOn(`#c-${id}`)
  })

/** Opens or closes a panel below a comment, or a popup over it. */
export function open(thread: Thread, id: string, kind: (Panel | Popup)['kind']): void {
  if (kind === 'menu' || kind === 'react') return openPopup(thread, id, kind)
  thread.popup = null
  openPanel(thread, id, kind)
}

/** Otherwise a click on a popup's button takes the focus, which closes it too early. */
const keepFocus = (event: Event): void => event.preventDefault()

function openPopup(thread: Thread, id: string, kind: Popup['kind']): void {
  const { popup } = thread
  if (popup?.id === id && popup.kind === kind) return closePopup(thread, popup)
  thread.popup = { id, kind }
  const row = thread.shadowRoot?.querySelector(`#c-${id} .actions`)
  row?.addEventListener('mousedown', keepFocus)
  void thread.focusOn('.popup button', true)
}

/** Closes this popup if it is still the open one. The focus goes back to where it came from. */
export function closePopup(thread: Thread, popup: Popup | null): void {
  const { popup: shown } = thread
  if (!popup || shown?.id !== popup.id || shown.kind !== popup.kind) return
  thread.popup = null
  void thread.focusOn(`#c-${popup.id} [data-opens=${popup.kind}]`)
}

function openPanel(thread: Thread, id: string, kind: Panel['kind']): void {
  const isOpen = thread.panel?.id === id && thread.panel.kind === kind
  if (isOpen) return closePanel(thread, thread.panel)
  const comment = thread.state.comments.get(id)
  // A reader may have asked for it before they signed in. The service refuses it.
  if (kind === 'report' && comment && thread.isOwn(comment)) return
  thread.errors.delete(id)
  setPanel(thread, { id, kind })
  if (kind === 'edit' && thread.storage.draft(editOf(id)).text === '') {
    const { text, mentioned } = draftOf(comment)
    thread.storage.setDraft(editOf(id), text, mentioned, comment?.revision)
  }
  void thread.focusOn('.panel :is(textarea, select, button)', true)
}
