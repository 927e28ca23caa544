import type { Mark } from '../../ui/mentions.ts'

/** A text in parts, of which those in `marks` are marked. Marks may overlap, and lie outside. */
export function partsOf(text: string, marks: readonly Mark[]): { text: string; isMarked: boolean }[] {
  const parts: { text: string; isMarked: boolean }[] = []
  let at = 0
  const add = (end: number, isMarked: boolean): void => {
    if (end > at) parts.push({ text: text.slice(at, end), isMarked })
    at = Math.max(at, end)
  }
  const places = marks.flatMap(({ start, end }) => (start === null || end === null ? [] : [{ start, end }]))
  for (const { start, end } of places.sort((a, b) => a.start - b.start)) {
    add(Math.min(start, text.length), false)
    add(Math.min(end, text.length), true)
  }
  add(text.length, false)
  return parts
}
