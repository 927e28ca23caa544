/**
 * The items of each group, in the order of its first item. Node 20 lacks `Map.groupBy`.
 */
export function grouped<Each, By>(all: Iterable<Each>, by: (each: Each) => By): Map<By, Each[]> {
  const groups = new Map<By, Each[]>()
  for (const each of all) {
    const group = groups.get(by(each))
    if (group === undefined) groups.set(by(each), [each])
    else group.push(each)
  }
  return groups
}
