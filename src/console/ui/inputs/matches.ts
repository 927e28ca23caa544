const fold = (text: string): string => text.normalize('NFKC').toLowerCase()

/** Whether the texts have each word of the search, in any order and case. */
export function matches(search: string | null, ...texts: readonly (string | null)[]): boolean {
  const all = fold(texts.join('\n'))
  return fold(search ?? '')
    .split(/\s+/)
    .every((word) => all.includes(word))
}
