/** What was selected when a menu was opened: a click on its button ends the selection. */
const selections = new WeakMap<ShadowRoot, { text: string; within: Node | undefined }>()

/** Called before a menu opens, by a click or a key. */
export function rememberSelection({ currentTarget, target }: Event): void {
  const root = currentTarget as ShadowRoot & { getSelection?: () => Selection | null }
  if (!(target as Element).closest('[data-opens=menu]')) return
  // Chromium tells a shadow tree's own selection, other browsers that of the page.
  const selection = root.getSelection?.() ?? getSelection()
  selections.set(root, { text: selection?.toString().trim() ?? '', within: bodyAround(selection) })
}

/** The text of a comment that a selection lies in. */
function bodyAround(selection: Selection | null): Node | undefined {
  if (!selection || selection.rangeCount === 0) return undefined
  const { commonAncestorContainer: node } = selection.getRangeAt(0)
  return (node instanceof Element ? node : node.parentElement)?.closest('.body') ?? undefined
}

/** What was selected of this comment; empty for nothing. */
export function selectedIn(root: ShadowRoot, id: string): string {
  const { text = '', within } = selections.get(root) ?? {}
  return within && root.getElementById(`c-${id}`)?.contains(within) ? text : ''
}
