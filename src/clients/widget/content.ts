const TAGS = /^(a|blockquote|br|code|em|h[1-6]|hr|li|ol|p|pre|s|strong|ul)$/
const LINKS = /^(https?|mailto):/i

declare global {
  interface Window {
    trustedTypes?: { createPolicy: (name: string, rules: object) => { createHTML: (html: string) => string } }
  }
}

/** For pages whose policy asks for Trusted Types: what is parsed is only read, by what follows. */
const policy = window.trustedTypes?.createPolicy('engagement', { createHTML: (html: string) => html })

/**
 * A comment's `bodyHtml` as nodes of the page. The service has sanitised it; this is the page's own
 * lock: a new element is made for each that a comment can rightly have, with nothing of the old one
 * but a link's address. Parsed in a document of its own, nothing of the text runs or loads.
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
  // A heading within a comment is none of the page's outline.
  const made = document.createElement(name.replace(/^h\d/, 'strong'))
  if (made instanceof HTMLOListElement) made.start = Number(original.getAttribute('start') ?? 1)
  const href = original.getAttribute('href') ?? ''
  if (made instanceof HTMLAnchorElement && LINKS.test(href)) {
    made.href = href
    made.rel = 'nofollow ugc noopener'
  }
  return made
}
