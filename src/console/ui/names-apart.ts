interface Named {
  externalId: string
}

/** A name that others have too, told apart by the external id behind it. */
export const withId = (name: string, { externalId }: Named): string => `${name} (${externalId})`

/** The names of a list. Where several are alike, each has its external id behind it. */
export function namesApart<One extends Named>(list: readonly One[], nameOf: (one: One) => string): string[] {
  const names = list.map(nameOf)
  return list.map((one, index) => {
    const name = names[index] ?? ''
    return names.indexOf(name) === names.lastIndexOf(name) ? name : withId(name, one)
  })
}

/** The names that more than one has, sorted, of a list that may have one several times. */
export function sharedNames<One extends { id: string }>(
  list: readonly One[],
  nameOf: (one: One) => string,
): readonly string[] {
  const first = new Map<string, string>()
  const shared = new Set<string>()
  for (const one of list) {
    const name = nameOf(one)
    if ((first.get(name) ?? one.id) !== one.id) shared.add(name)
    first.set(name, one.id)
  }
  return [...shared].sort()
}
