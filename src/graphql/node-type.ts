interface Identified {
  id: string
}

const typeNames = new WeakMap<object, string>()

/** Says of which type an object with an id is that is answered as a Node. */
export function asNode(type: string, value: object): Identified {
  typeNames.set(value, type)
  return value as Identified
}

/** The type of an object that `asNode` has named. */
export const nodeTypeOf = (value: object): string | undefined => typeNames.get(value)
