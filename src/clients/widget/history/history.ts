// The versions of a comment: a file of its own, which comes when a reader asks for them.
import type { PageComment } from '../backend.ts'
import type { Thread } from '../thread.ts'
import type { Kit } from '../writing/kit.ts'
import { differences } from './differences.ts'
import css from './history.css?inline'
import { strings } from '../strings/history.ts'

interface Version {
  revision: number
  body: string
  createdAt: string
  replacedAt: string | null
}

interface Page {
  data: Version[]
  nextCursor: string | null
}

/** Opens a dialog with the texts of a comment that this reader may read, the present one first. */
export async function showHistory(thread: Thread, comment: PageComment, { ask, en, sheetOf }: Kit): Promise<void> {
  Object.assign(en, strings)
  const { me, discussion } = thread
  /** Who reads now may not be allowed to see these texts. */
  const isForOthers = (): boolean => thread.me?.id !== me?.id || thread.discussion !== discussion
  const load = (cursor: string | null): Promise<Page> =>
    ask(
      `${thread.backend}/comments/${comment.id}/history?${new URLSearchParams({ limit: '20', ...(cursor && { cursor }) })}`,
    )
  const [page] = await Promise.all([load(null), thread.loadWords()])
  const root = thread.shadowRoot
  if (!root || !thread.isConnected || isForOthers()) return
  const sheet = sheetOf(css)
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet)

  const { words } = thread
  const { lang, dir } = words
  // Browsers that know `closedby` also close it by a click beside it.
  const dialog = make('dialog', { part: 'dialog', 'aria-labelledby': 'versions', closedby: 'any', lang, dir })
  const list = make('ol', { class: 'list', part: 'list' })
  const close = buttonOf(words.text('close'), () => dialog.close())
  const header = make('div', { class: 'header' }, make('h2', { id: 'versions' }, words.text('versions')), close)
  const more = buttonOf(words.text('moreVersions'), () => void loadMore())
  const failure = make('p', { part: 'error', class: 'error', role: 'alert' })
  const none = make('p', { class: 'quiet' }, words.text('noVersions'))
  dialog.append(header, list, none, failure, more)
  // Whatever changes the reader draws the page again.
  const watch = new MutationObserver(() => isForOthers() && dialog.close())
  dialog.addEventListener('close', () => {
    watch.disconnect()
    dialog.remove()
  })

  let cursor: string | null = null
  let last: Version | undefined
  const show = ({ data, nextCursor }: Page): void => {
    cursor = nextCursor
    more.hidden = cursor === null
    // The last one so far is compared now that the one before it is there.
    list.lastElementChild?.remove()
    const versions = last ? [last, ...data] : data
    const texts = versions.map(({ body }) => withNames(body, comment.bodyHtml ?? ''))
    list.append(...versions.map((version, n) => itemOf(thread, comment, version, texts[n] ?? '', texts[n + 1])))
    last = versions.at(-1)
    none.hidden = list.childElementCount > 1 || cursor !== null
  }
  let isLoading = false
  const loadMore = async (): Promise<void> => {
    // Disabled, the button would lose the focus.
    if (isLoading) return
    isLoading = true
    failure.textContent = ''
    try {
      show(await load(cursor))
      // The button may be gone, and with it the focus.
      if (more.hidden) close.focus()
    } catch {
      failure.textContent = words.text('error')
    }
    isLoading = false
  }
  show(page)
  root.append(dialog)
  dialog.showModal()
  watch.observe(root, { childList: true, subtree: true, attributes: true, characterData: true })
}

function itemOf(
  { words }: Thread,
  comment: PageComment,
  { body, createdAt, replacedAt }: Version,
  text: string,
  earlier: string | undefined,
): HTMLElement {
  // Answers are cached for a moment: the last edit may be in this one alone, or in the page alone.
  const isCurrent = replacedAt === null && body === comment.body
  const time = make('time', { datetime: createdAt }, words.full(createdAt))
  const head = make('p', { class: 'quiet' }, time, isCurrent ? ` · ${words.text('currentVersion')}` : '')
  const pieces = earlier === undefined ? [text] : differences(earlier, text, words.lang).map(nodeOf)
  return make('li', {}, head, make('div', { part: 'body', class: 'version', dir: 'auto' }, ...pieces))
}

const nodeOf = ({ kind, text }: ReturnType<typeof differences>[number]): Node | string =>
  kind === 'same' ? text : make(kind, {}, text)

function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string>,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...content)
  return element
}

function buttonOf(text: string, click: () => void): HTMLButtonElement {
  const button = make('button', { type: 'button', part: 'button plain', class: 'plain' }, text)
  button.addEventListener('click', click)
  return button
}

const MENTION = /\[@\]\(reader:([\da-f-]{36})\)/g
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** Mentions by the names that the present text shows; of others the sign alone. */
const withNames = (body: string, html: string): string =>
  body.replace(MENTION, (_, id: string) => {
    const shown = html.split(`data-reader="${id}">`)[1]?.split('<')[0] ?? '@'
    return shown.replace(/&(amp|lt|gt|quot|#39);/g, (written, name: string) => ENTITIES[name] ?? written)
  })
