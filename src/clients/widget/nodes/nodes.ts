import { render } from 'lit/html.js'

import { contentOf } from './content.ts'

/**
 * The DOM nodes of lists, comments and their texts, kept as long as the thread has them, so that
 * changes around them do not disturb typing, selections or the focus.
 */
export class Nodes {
  readonly #lists = new Map<string, HTMLOListElement>()
  readonly #items = new Map<string, HTMLLIElement>()
  readonly #seen = new Map<string, Set<string>>()
  readonly #bodies = new Map<string, { html: string; node: HTMLElement }>()

  /**
   * The list of this name, with these comments in this order. Nodes that are there already are not
   * moved.
   */
  list(name: string, className: string, ids: readonly string[], view: (id: string) => unknown): HTMLElement {
    const list = kept(this.#lists, name, () => document.createElement('ol'))
    list.className = className
    list.part.value = 'list'
    const items = ids.map((id) => {
      const item = kept(this.#items, id, () => document.createElement('li'))
      render(view(id), item)
      return item
    })
    for (const child of Array.from(list.children)) if (!items.some((item) => item === child)) child.remove()
    // A node that is moved loses the focus: the others move around the one that has it.
    const focused = items.find((item) => item.matches(':focus-within'))
    let next = list.firstChild
    for (const item of items) {
      while (item === focused && next && next !== item) {
        const after: ChildNode | null = next.nextSibling
        list.append(next)
        next = after
      }
      if (item === next) next = next.nextSibling
      else list.insertBefore(item, next)
    }
    return list
  }

  /** These names, and those that this comment has had in this visit: none goes. */
  seen(id: string, names: readonly string[]): string[] {
    const seen = kept(this.#seen, id, () => new Set<string>())
    for (const name of names) seen.add(name)
    return [...seen]
  }

  /** The text of a comment, rendered again only if it has changed. */
  body(id: string, html: string): HTMLElement {
    const known = this.#bodies.get(id)
    if (known?.html === html) return known.node
    const node = document.createElement('div')
    node.append(contentOf(html))
    this.#bodies.set(id, { html, node })
    return node
  }
}

function kept<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key) ?? make()
  map.set(key, known)
  return known
}
