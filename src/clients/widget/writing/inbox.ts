import css from './inbox.css?inline'
import type { Reader } from '../../browser/stream.ts'
import type { PageComment } from '../backend.ts'
import type { StringKey } from '../strings/strings.ts'
import type { Thread } from '../thread.ts'
import { addStyles, kit } from './kit.ts'

/** How many notifications a reader has not read, counted up to a bound. */
export interface Unread {
  count: number
  hasMore: boolean
}

/** The button of one reader's notifications. */
export interface Bell {
  readonly readerId: string
  /** Null with a backend of an earlier release. */
  unread: Unread | null
  /** What it opens, once it was opened; its code is a file of its own. */
  inbox: Inbox | null
  isOpen: boolean
  /** The reader's own comments, once they were opened; also a file of its own. */
  own: Inbox | null
  isOwnOpen: boolean
  waits: boolean
}

interface Notification {
  id: string
  kind: 'reply' | 'mention' | 'decision'
  /** Null if it was removed meanwhile. */
  comment: PageComment | null
  actor: Reader | null
  discussion: { id: string; title: string | null; url: string | null } | null
  createdAt: string
  readAt: string | null
}

interface Notifications {
  data: Notification[]
  nextCursor: string | null
  hasMore: boolean
}

const KINDS = ['reply', 'mention', 'decision'] as const
type Preferences = Record<(typeof KINDS)[number], 'all' | 'none'>
const LABELS = { reply: 'replyToMe', mention: 'mentionOfMe', decision: 'decisionOnMine' } as const

/** The place of its errors. */
const PLACE = 'inbox'

/** What a reader is told: the list behind the bell, and which kinds they want. */
export interface Inbox {
  view: () => unknown
  /** Loads what is new. */
  refresh: () => Promise<void>
}

export function openInbox(thread: Thread, bell: Bell): Inbox {
  const { html, nothing, ask, act, button, errorView } = kit
  const base = `${thread.backend}/me`
  let list: Notifications | null = null
  let preferences: Preferences | null = null
  addStyles(thread, css)

  const load = (query: Record<string, string>): Promise<Notifications> =>
    ask(`${base}/notifications?${new URLSearchParams({ limit: '20', ...query })}`)

  const refresh = (): Promise<void> =>
    act(thread, PLACE, 'inbox', async () => {
      const [first, wanted] = await Promise.all([load({}), preferences ?? ask<Preferences>(`${base}/preferences`)])
      const oldest = first.data.at(-1)?.id ?? ''
      const older = list?.data.filter(({ id }) => id < oldest) ?? []
      // Without a gap between them: more may have come than one page has.
      const isJoined = first.hasMore && list?.data.some(({ id }) => id === oldest)
      list = isJoined && list && older.length > 0 ? { ...list, data: [...first.data, ...older] } : first
      preferences = wanted
    })

  const more = (): Promise<void> =>
    act(thread, PLACE, 'inbox', async () => {
      if (!list?.nextCursor) return
      const known = list.data
      const next = await load({ cursor: list.nextCursor })
      list = { ...next, data: [...known, ...next.data] }
      void thread.focusOn(`.inbox li:nth-child(${known.length + 1}) a`, true)
    })

  /** Also while the page is being left. What fails stays unread. */
  async function markRead(which: object, isMeant: (one: Notification) => boolean): Promise<void> {
    const now = new Date().toISOString()
    list?.data.forEach((one) => isMeant(one) && (one.readAt ??= now))
    void thread.update()
    const response = await fetch(`${base}/notifications/read`, {
      method: 'POST',
      keepalive: true,
      credentials: 'include',
      headers: { 'Content-Type': 'application/json', 'X-Requested-With': 'engagement' },
      body: JSON.stringify(which),
    })
    if (response.ok) bell.unread = (await response.json()) as Unread
    else await refresh()
    void thread.update()
  }

  const markAll = (): void => {
    const newest = list?.data.find(({ readAt }) => readAt === null)
    // Newer ones, which are not in view, stay unread, unless nothing unread is in view.
    const before = new Date(newest ? Date.parse(newest.createdAt) + 1 : Date.now()).toISOString()
    void markRead({ before }, () => true).catch(refresh)
    // The button goes.
    void thread.focusOn('[data-opens=inbox]')
  }

  const want = (kind: keyof Preferences, isWanted: boolean): Promise<void> =>
    act(thread, PLACE, 'inbox', async () => {
      const choice = { [kind]: isWanted ? 'all' : 'none' }
      preferences = await ask<Preferences>(`${base}/preferences`, 'PATCH', choice)
    })

  const close = (): void => {
    bell.isOpen = false
    void thread.focusOn('[data-opens=inbox]')
  }

  function follow(one: Notification, id: string): void {
    if (one.readAt === null) void markRead({ ids: [one.id] }, ({ id: each }) => each === one.id).catch(refresh)
    if (one.discussion?.id !== thread.discussionId) return
    bell.isOpen = false
    void thread.update()
    // Else the change of the address shows it.
    if (location.hash === `#comment-${id}`) void thread.reveal(id).catch(() => null)
  }

  function oneView(one: Notification): unknown {
    const { comment, createdAt, readAt, discussion } = one
    const { words, nodes } = thread
    const href = hrefOf(thread, one)
    const text = html`<bdi dir=${words.dir}>${titleOf(thread, one)}</bdi>`
    return html`<li class=${readAt === null ? 'unread' : ''} part="notification">
      ${readAt === null ? html`<span class="unseen">${words.text('isUnread')}</span>` : nothing}
      ${href === null || !comment ? text : html`<a href=${href} @click=${() => follow(one, comment.id)}>${text}</a>`}
      <span class="quiet"
        ><time datetime=${createdAt}>${words.ago(createdAt)}</time
        >${discussion?.title ? html` · <bdi>${discussion.title}</bdi>` : nothing}</span
      >
      ${comment?.bodyHtml ? html`<p class="quiet">${textOf(nodes.body(`told-${one.id}`, comment.bodyHtml))}</p>` : nothing}
    </li>`
  }

  function view(): unknown {
    const { words, errors } = thread
    const leave = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') close()
    }
    // Also of those on pages that the reader may no longer read, which are counted and not listed.
    const isUnread = (bell.unread?.count ?? 0) > 0 || list?.data.some(({ readAt }) => readAt === null)
    return html`<section part="inbox" class="inbox" aria-labelledby="inbox" @keydown=${leave}>
      <h3 id="inbox">${words.text('inbox')}</h3>
      ${isUnread ? html`<div class="row">${button(words.text('allRead'), markAll)}</div>` : nothing}
      ${list?.data.length === 0 && !list.hasMore ? html`<p class="quiet">${words.text('noNotifications')}</p>` : nothing}
      <ol>
        ${list?.data.map(oneView)}
      </ol>
      ${list?.hasMore ? button(words.text('moreNotifications'), more) : nothing} ${errorView(errors.get(PLACE))}
      ${preferences ? preferencesView(preferences) : nothing}
    </section>`
  }

  function preferencesView(known: Preferences): unknown {
    const { words, busy } = thread
    // One that is disabled would lose the focus.
    const refuse = (event: Event): void => {
      if (busy.has(PLACE)) event.preventDefault()
    }
    return html`<fieldset @click=${refuse}>
      <legend class="quiet">${words.text('notifyMe')}</legend>
      ${KINDS.map(
        (kind) =>
          html`<label>
            <input
              type="checkbox"
              .checked=${known[kind] === 'all'}
              @change=${({ target }: Event) => want(kind, (target as HTMLInputElement).checked)}
            />
            ${words.text(LABELS[kind])}
          </label>`,
      )}
    </fieldset>`
  }

  return { view, refresh }
}

const DECIDED: Partial<Record<string, StringKey>> = {
  approved: 'approvedYours',
  rejected: 'rejectedYours',
  deleted: 'deleted',
}

function titleOf({ words }: Thread, { kind, actor, comment }: Notification): string {
  if (kind === 'decision') return words.text(DECIDED[comment?.status ?? 'deleted'] ?? 'rejectedYours')
  return words.text(kind === 'reply' ? 'repliedToYou' : 'mentionedYou', {
    name: isolated(actor?.name ?? words.text('anonymous')),
  })
}

/** A name that does not decide the direction of the text around it (FSI and PDI of Unicode). */
const isolated = (name: string): string => `\u2068${name}\u2069`

/** The text of a comment, in which a `span` is a mention. */
const textOf = (node: Node): string =>
  [...node.childNodes]
    .map((child) => {
      if (child.nodeName === 'SPAN') return isolated(child.textContent ?? '')
      return child.hasChildNodes() ? textOf(child) : child.nodeValue
    })
    .join('')

/** The address of the comment; null where its page has told none. */
function hrefOf({ address, discussionId }: Thread, { comment, discussion }: Notification): string | null {
  if (!comment || !discussion) return null
  const url = discussion.id === discussionId ? address : discussion.url
  if (!url || !/^https?:/.test(url)) return null
  return `${url.split('#')[0]}#comment-${comment.id}`
}
