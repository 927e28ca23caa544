import { distance } from 'fastest-levenshtein'

/** An environment variable whose name is almost that of a setting. */
export interface Misspelled {
  name: string
  /** The setting. */
  meant: string
}

/** The greatest edit distance of a misspelling. Short names have too many neighbours. */
const maxDistance = ({ length }: string): number => (length < 5 ? 0 : length < 8 ? 1 : 2)

/** For long names, a name in lower case also counts. */
const distanceTo = (known: string, name: string): number =>
  distance(known.length < 8 ? name : name.toUpperCase(), known)

/** Variables that are not in `known`, but almost. */
export function findMisspelled(names: readonly string[], known: readonly string[]): Misspelled[] {
  return names.flatMap((name) => {
    if (known.includes(name)) return []
    const [nearest] = known
      .map((meant) => ({ name, meant, by: distanceTo(meant, name) }))
      .filter(({ meant, by }) => by <= maxDistance(meant))
      .sort((a, b) => a.by - b.by)
    return nearest === undefined ? [] : [{ name, meant: nearest.meant }]
  })
}
