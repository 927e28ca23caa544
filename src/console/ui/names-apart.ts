/** The names of a list. Where several are alike, each has its external id behind it. */
export function namesApart<One extends { externalId: string }>(
  list: readonly One[],
  nameOf: (one: One) => string,
): string[] {
  const names = list.map(nameOf)
  return names.map((name, index) => {
    const isAlone = names.indexOf(name) === names.lastIndexOf(name)
    return isAlone ? name : `${name} (${list[index]?.externalId ?? ''})`
  })
}
