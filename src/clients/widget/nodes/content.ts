import { LINKS, TAGS } from './tags.ts'

declare global {
  interface Window {
    trustedTypes?: { createPolicy: (name: string, rules: object) => { createHTML: (html: string) => string } }
  }
}

/** For pages that require Trusted Types: the parsed text is only read by the code below. */
const policy = window.trustedTypes?.createPolicy('engagement', { createHTML: (html: string) => html })

/**
 * A comment's `bodyHtml` as nodes of the page. The service has sanitised it; this is the page's own
 * line of defence: it creates new elements of the allowed kinds, and takes over nothing but a
 * link's address. The text is parsed in a separate document, where nothing runs or loads.
 */
export function contentOf(html: string): DocumentFragment {
  const parsed = new DOMParser().parseFromString(policy?.createHTML(html) ?? html, 'text/html')
  const content = document.createDocumentFragment()
  copy(parsed.body, content)
  return content
}

function copy(from: Node, to: Node): void {
  for (const child of from.childNodes) {
    const name = child.nodeName.toLowerCase()
    if (child.nodeType === Node.TEXT_NODE) to.appendChild(document.createTextNode(child.nodeValue ?? ''))
    else if (TAGS.test(name)) copy(child, to.appendChild(elementLike(child as Element, name)))
  }
}

function elementLike(original: Element, name: string): Element {
  // Headings of a comment must not appear in the page's outline.
  const made = document.createElement(name.replace(/^h\d/, 'strong'))
  if (made instanceof HTMLOListElement) made.start = Number(original.getAttribute('start') ?? 1)
  // A mention: its name does not decide the direction of the text, even where it comes first.
  if (name === 'span') made.dir = 'auto'
  const href = original.getAttribute('href') ?? ''
  if (made instanceof HTMLAnchorElement && LINKS.test(href)) {
    made.href = href
    made.rel = 'nofollow ugc noopener'
  }
  return made
}
