import { distance } from 'fastest-levenshtein'

/** A variable of the environment that is named almost like a setting. */
export interface Misspelled {
  name: string
  /** The setting. */
  meant: string
}

/** So many letters more, less or other make another name. A short name has too many neighbours. */
const maxDistance = ({ length }: string): number => (length < 5 ? 0 : length < 8 ? 1 : 2)

/** Long names are also meant by lower-case letters. */
const distanceTo = (known: string, name: string): number =>
  distance(known.length < 8 ? name : name.toUpperCase(), known)

/** The variables that are none of `known`, but are named almost like one. */
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
