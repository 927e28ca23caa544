// The reader's own comments on all pages, with their states: it comes when they are opened.
import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import { decisionView } from './decision-view.ts'
import css from './inbox.css?inline'
import type { Bell, Inbox } from './inbox.ts'
import { addStyles, kit } from './kit.ts'

interface Own extends PageComment {
  /** Missing from a backend of an earlier release. */
  discussion?: { id: string; externalId: string; title: string | null; url: string | null } | null
}

interface OwnPage {
  data: Own[]
  nextCursor: string | null
  hasMore: boolean
}

/** The place of its errors. */
const PLACE = 'own'

export function openOwn(thread: Thread, bell: Bell): Inbox {
  const { html, nothing, ask, act, button, errorView } = kit
  let list: OwnPage | null = null
  addStyles(thread, css)

  const load = (query: Record<string, string>): Promise<OwnPage> =>
    ask(`${thread.backend}/me/comments?${new URLSearchParams({ limit: '20', ...query })}`)

  const refresh = (): Promise<void> =>
    act(thread, PLACE, 'own', async () => {
      list = await load({})
    })

  const more = (): Promise<void> =>
    act(thread, PLACE, 'own', async () => {
      if (!list?.nextCursor) return
      const known = list.data
      const next = await load({ cursor: list.nextCursor })
      list = { ...next, data: [...known, ...next.data] }
    })

  const close = (): void => {
    bell.isOwnOpen = false
    void thread.focusOn('[data-opens=own]')
  }

  function follow({ id, discussionId }: Own): void {
    if (discussionId !== thread.discussionId) return
    bell.isOwnOpen = false
    void thread.update()
    // Else the change of the address shows it.
    if (location.hash === `#comment-${id}`) void thread.reveal(id).catch(() => null)
  }

  function oneView(one: Own): unknown {
    const { words, nodes } = thread
    const { id, body, bodyHtml, createdAt, discussion } = one
    const href = hrefOf(thread, one)
    const title = discussion?.title ? html`<bdi>${discussion.title}</bdi> · ` : nothing
    const heading = html`${title}<time datetime=${createdAt}>${words.ago(createdAt)}</time>`
    const text = body === null ? words.text('deleted') : nodes.body(`own-${id}`, bodyHtml ?? '').textContent?.trim()
    return html`<li part="own">
      <h4>${href === null ? heading : html`<a href=${href} @click=${() => follow(one)}>${heading}</a>`}</h4>
      <p dir="auto">${text}</p>
      ${decisionView(thread, one)}
    </li>`
  }

  function view(): unknown {
    const { words, errors, busy } = thread
    const leave = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') close()
    }
    return html`<section part="inbox own" class="inbox" aria-labelledby="own" @keydown=${leave}>
      <h3 id="own">${words.text('ownComments')}</h3>
      ${list?.data.length === 0 && !list.hasMore ? html`<p class="quiet">${words.text('noOwn')}</p>` : nothing}
      <ol>
        ${list?.data.map(oneView)}
      </ol>
      ${list?.hasMore ? button(words.text('more'), more, { isOff: busy.has(PLACE) }) : nothing}
      ${errorView(errors.get(PLACE))}
    </section>`
  }

  return { view, refresh }
}

/** The address of a comment; null of one that is gone, or where its page has told none. */
function hrefOf({ address, discussionId }: Thread, { id, body, discussion, discussionId: its }: Own): string | null {
  const url = its === discussionId ? address : discussion?.url
  if (body === null || !url || !/^https?:/.test(url)) return null
  return `${url.split('#')[0]}#comment-${id}`
}
