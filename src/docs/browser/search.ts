import MiniSearch, { type SearchResult } from 'minisearch'

import { type CompactIndex, expand } from '../compact-index.ts'
import { type Found, OPTIONS } from '../search-options.ts'

interface Places {
  /** The address of the documentation, and of the index. */
  docs: string
  index: string
}

type Hit = SearchResult & Omit<Found, 'id' | 'body'>

const MOST_HITS = 12
/** Characters of a text around the first word that was found. */
const BEFORE = 40
const SHOWN = 160

let dialog: HTMLDialogElement | undefined
let index: Promise<MiniSearch<Found>> | undefined

function loadIndex(address: string): Promise<MiniSearch<Found>> {
  index ??= fetch(address)
    .then(async (answer) => {
      if (!answer.ok) throw new Error(`the index of the search answers ${answer.status}`)
      return MiniSearch.loadJS<Found>(expand((await answer.json()) as CompactIndex), OPTIONS)
    })
    .catch((error: unknown) => {
      index = undefined
      throw error
    })
  return index
}

/** Opens the search, which can be typed into while its index loads. */
export function open(places: Places): void {
  dialog ??= makeDialog(places)
  if (!dialog.open) dialog.showModal()
  dialog.querySelector('input')?.select()
}

function makeDialog({ docs, index: address }: Places): HTMLDialogElement {
  const box = document.createElement('dialog')
  box.id = 'search'
  box.setAttribute('aria-label', 'Search the documentation')
  box.innerHTML = `<div class="ask"><input type="text" inputmode="search" enterkeyhint="search" role="combobox" aria-expanded="false" aria-controls="hits" aria-autocomplete="list" aria-label="Search the documentation" placeholder="Search the documentation" autocomplete="off" spellcheck="false"><button type="button">Close</button></div>
<p role="status"></p>
<ul id="hits" role="listbox" aria-label="Results"></ul>`
  document.body.append(box)
  const [input, list, status] = [box.querySelector('input'), box.querySelector('ul'), box.querySelector('p')]
  if (input === null || list === null || status === null) throw new Error('the search lacks a part')

  let at = -1
  const links = (): HTMLAnchorElement[] => [...list.querySelectorAll('a')]
  const choose = (n: number): void => {
    const all = links()
    at = all.length === 0 ? -1 : (n + all.length) % all.length
    all.forEach((link, each) => link.setAttribute('aria-selected', String(each === at)))
    all[at]?.scrollIntoView({ block: 'nearest' })
    if (at < 0) input.removeAttribute('aria-activedescendant')
    else input.setAttribute('aria-activedescendant', `hit-${at}`)
  }
  const show = (found: MiniSearch<Found>): void => {
    const hits = found.search(input.value).slice(0, MOST_HITS) as Hit[]
    list.replaceChildren(...hits.map((hit, n) => itemOf(hit, n, docs)))
    input.setAttribute('aria-expanded', String(hits.length > 0))
    const count = hits.length === MOST_HITS ? `The first ${MOST_HITS} results` : `${hits.length} results`
    if (input.value.trim() === '') status.textContent = ''
    else if (hits.length === 0) status.textContent = 'Nothing was found. Try fewer words.'
    else status.textContent = hits.length === 1 ? '1 result' : count
    choose(0)
  }
  input.addEventListener('input', () => {
    if (input.value.trim() !== '' && list.childElementCount === 0) status.textContent = 'Searching …'
    loadIndex(address).then(show, () => (status.textContent = 'The search could not be loaded. Type to try again.'))
  })
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      choose(at + step)
    } else if (event.key === 'Enter') {
      links()[at]?.click()
    }
  })
  list.addEventListener('click', () => box.close())
  box.querySelector('button')?.addEventListener('click', () => box.close())
  // A click beside the box closes it.
  box.addEventListener('click', (event) => event.target === box && box.close())
  return box
}

function itemOf(hit: Hit, n: number, docs: string): HTMLLIElement {
  const item = document.createElement('li')
  item.setAttribute('role', 'presentation')
  const link = document.createElement('a')
  link.id = `hit-${n}`
  link.href = new URL(hit.address, docs).href
  link.tabIndex = -1
  link.setAttribute('role', 'option')
  const title = document.createElement('strong')
  title.append(...marked(hit.heading, hit.terms))
  const page = document.createElement('small')
  page.textContent = hit.page
  const text = document.createElement('span')
  text.append(...marked(excerptOf(hit), hit.terms))
  link.append(title, page, text)
  item.append(link)
  return item
}

function excerptOf({ shown: body, terms }: Hit): string {
  const text = body.toLowerCase()
  const first = Math.min(...terms.map((term) => text.indexOf(term)).filter((place) => place >= 0))
  const from = Number.isFinite(first) && first > BEFORE ? body.lastIndexOf(' ', first - BEFORE) + 1 : 0
  const part = body.slice(from, from + SHOWN)
  return `${from > 0 ? '… ' : ''}${part}${from + SHOWN < body.length ? ' …' : ''}`
}

/** A text whose words that were found are marked. */
function marked(text: string, terms: readonly string[]): (string | Node)[] {
  const parts: (string | Node)[] = []
  const lower = text.toLowerCase()
  let from = 0
  while (from < text.length) {
    const next = terms
      .map((term) => ({ term, place: lower.indexOf(term, from) }))
      .filter(({ place }) => place >= 0)
      .toSorted((one, other) => one.place - other.place || other.term.length - one.term.length)[0]
    if (next === undefined) break
    const mark = document.createElement('mark')
    mark.textContent = text.slice(next.place, next.place + next.term.length)
    parts.push(text.slice(from, next.place), mark)
    from = next.place + next.term.length
  }
  return [...parts, text.slice(from)]
}
