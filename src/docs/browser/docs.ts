import { applyTheme, KEY, storedTheme } from './theme.ts'

type SearchModule = typeof import('./search.ts')

const root = document.documentElement
const addressOf = (path: string | undefined): string => new URL(path ?? '', location.href).href

/** A button for each block of code. Browsers have a clipboard on HTTPS and localhost alone. */
function addCopyButtons(): void {
  if (!('clipboard' in navigator)) return
  for (const box of document.querySelectorAll<HTMLElement>('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(box.querySelector('pre')?.textContent ?? '').then(
        () => (button.textContent = 'Copied'),
        () => (button.textContent = 'Not copied'),
      )
    })
    button.addEventListener('blur', () => (button.textContent = 'Copy'))
    box.append(button)
  }
}

/** What scrolls sideways is in reach of the keyboard. */
function makeScrollable(): void {
  for (const box of document.querySelectorAll<HTMLElement>('.code pre, .table')) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0
    else box.removeAttribute('tabindex')
  }
}

/** Examples name this service, wherever it is served. */
function showOwnAddress(): void {
  const own = new URL('..', addressOf(root.dataset.docs)).href.replace(/\/$/, '')
  for (const place of document.querySelectorAll('[data-service]')) place.textContent = own
}

function addThemeChoice(place: Element): void {
  const select = document.createElement('select')
  select.setAttribute('aria-label', 'Colours')
  for (const [value, label] of [
    ['auto', 'Colours of the system'],
    ['light', 'Light colours'],
    ['dark', 'Dark colours'],
  ] as const) {
    select.add(new Option(label, value))
  }
  select.value = storedTheme() ?? 'auto'
  select.addEventListener('change', () => {
    applyTheme(select.value)
    try {
      localStorage.setItem(KEY, select.value)
    } catch {
      // The choice lasts as long as the page.
    }
  })
  place.append(select)
}

let search: Promise<SearchModule> | undefined

/** Loads the search once. After a failure the next attempt loads it again. */
function loadSearch(): Promise<SearchModule> {
  search ??= (import(addressOf(root.dataset.search)) as Promise<SearchModule>).catch((error: unknown) => {
    search = undefined
    throw error
  })
  return search
}

async function openSearch(): Promise<void> {
  const { open } = await loadSearch()
  open({ docs: addressOf(root.dataset.docs), index: addressOf(root.dataset.index) })
}

function addSearch(tools: Element): void {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'search'
  button.setAttribute('aria-keyshortcuts', '/')
  button.innerHTML = 'Search <kbd aria-hidden="true">/</kbd>'
  const openOrSay = (): void => {
    openSearch().catch(() => (button.textContent = 'Search failed: try again'))
  }
  button.addEventListener('click', openOrSay)
  tools.append(button)
  addEventListener('keydown', (event) => {
    const isTyped = event.target instanceof Element && event.target.closest('input, select, textarea') !== null
    const isShortcut = event.key === 'k' && (event.metaKey || event.ctrlKey)
    if (!isShortcut && (event.key !== '/' || isTyped || event.metaKey || event.ctrlKey || event.altKey)) return
    event.preventDefault()
    openOrSay()
  })
}

/** Marks the heading that is read, in the list of the page. */
function followHeadings(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.contents a')]
  const headings = links.map(({ hash }) => document.getElementById(decodeURIComponent(hash.slice(1))))
  if (links.length === 0) return
  const mark = (): void => {
    const at = headings.findLastIndex((heading) => heading !== null && heading.getBoundingClientRect().top < 120)
    links.forEach((link, n) => {
      if (n === at) link.setAttribute('aria-current', 'true')
      else link.removeAttribute('aria-current')
    })
  }
  addEventListener('scroll', mark, { passive: true })
  mark()
}

/** A long list shows the page that is open. */
function showCurrentPage(): void {
  const list = document.querySelector('#menu')
  const current = list?.querySelector<HTMLElement>('[aria-current="page"]')
  if (list && current && current.offsetTop > list.clientHeight) list.scrollTop = current.offsetTop - 80
}

for (const tools of document.querySelectorAll('.tools')) addSearch(tools)
for (const choices of document.querySelectorAll('.choices')) addThemeChoice(choices)
showOwnAddress()
addCopyButtons()
makeScrollable()
addEventListener('resize', makeScrollable)
followHeadings()
showCurrentPage()
