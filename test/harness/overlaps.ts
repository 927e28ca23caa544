/**
 * What lies over something else on the present page: controls over controls, and texts over texts.
 * Bars that stay in view while the page scrolls are left out. Runs in the page.
 */
export function overlaps(): string[] {
  interface Box {
    of: Node
    name: string
    left: number
    right: number
    top: number
    bottom: number
  }
  const isFloating = (element: Element): boolean => {
    for (let at: Element | null = element; at !== null; at = at.parentElement)
      if (['fixed', 'sticky'].includes(getComputedStyle(at).position)) return true
    return false
  }
  const isShown = (element: Element): boolean =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !isFloating(element)
  /** The part of a box that no ancestor cuts off; null for none. */
  const shownPart = (element: Element, box: Box): Box | null => {
    const part = { ...box }
    for (let at: Element | null = element; at !== null && at !== document.body; at = at.parentElement) {
      const { overflowX, overflowY, clipPath } = getComputedStyle(at)
      if (overflowX === 'visible' && overflowY === 'visible' && clipPath === 'none') continue
      const around = at.getBoundingClientRect()
      part.left = Math.max(part.left, around.left)
      part.right = Math.min(part.right, around.right)
      part.top = Math.max(part.top, around.top)
      part.bottom = Math.min(part.bottom, around.bottom)
    }
    return part.right - part.left > 2 && part.bottom - part.top > 2 ? part : null
  }
  const boxOf = (of: Node, element: Element, rect: DOMRect, name: string): Box[] => {
    // Lines of a text may touch: their letters do not.
    const inset = of instanceof Text ? rect.height / 4 : 0
    const { left, right } = rect
    const part = shownPart(element, { of, name, left, right, top: rect.top + inset, bottom: rect.bottom - inset })
    return part === null ? [] : [part]
  }
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, [role=tab]')]
    .filter(isShown)
    .flatMap((element) => {
      const name = `${element.localName} ${(element.getAttribute('aria-label') ?? element.textContent ?? '').slice(0, 40)}`
      return [...element.getClientRects()].flatMap((rect) => boxOf(element, element, rect, name))
    })
  const texts: Box[] = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    if (element === null || node.textContent?.trim() === '' || !isShown(element)) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const rect of range.getClientRects())
      texts.push(...boxOf(node, element, rect, node.textContent?.slice(0, 40) ?? ''))
  }
  /** Fields have buttons of their own inside. */
  const fieldOf = ({ of }: Box): Element | null => (of instanceof Element ? of.closest('.mantine-Input-wrapper') : null)
  const found = new Set<string>()
  for (const boxes of [controls, texts]) {
    boxes.sort((a, b) => a.top - b.top)
    for (const [n, one] of boxes.entries()) {
      for (const other of boxes.slice(n + 1)) {
        if (other.top >= one.bottom - 2) break
        if (one.of.contains(other.of) || other.of.contains(one.of)) continue
        if (fieldOf(one) !== null && fieldOf(one) === fieldOf(other)) continue
        const width = Math.min(one.right, other.right) - Math.max(one.left, other.left)
        const height = Math.min(one.bottom, other.bottom) - other.top
        if (width > 2 && height > 2) found.add(`“${one.name}” and “${other.name}” lie over one another`)
      }
    }
  }
  return [...found]
}
