// Bodies that are as large as they may be, to be refused.

const BYTES = 250_000
const many = (count: number, make: (n: number) => string, by = ' '): string =>
  Array.from({ length: count }, (_, n) => make(n)).join(by)

/** JSON values of some 250 KB. */
export const VALUES: Readonly<Record<string, string>> = {
  'wrong entries': `[${many(BYTES / 2, () => '1', ',')}]`,
  'right entries': `[${many(BYTES / 8, () => '"abcde"', ',')}]`,
  'empty objects': `[${many(BYTES / 3, () => '{}', ',')}]`,
  'a long text': JSON.stringify('a'.repeat(BYTES)),
  'unknown fields': `{${many(BYTES / 12, (n) => `"a${n}":1`, ',')}}`,
  'a deep object': `${'{"a":'.repeat(49)}1${'}'.repeat(49)}`,
}

/** Documents that say the same in each schema. */
export const DOCUMENTS: Readonly<Record<string, string>> = {
  'many operations': many(200, (n) => `query Q${n} { __typename }`),
  'many operations and fragments': `${many(110, (n) => `query Q${n} { ...F0 }`)} ${many(165, (n) => `fragment F${n} on Query { ${n < 164 ? `...F${n + 1}` : 'x'} }`)}`,
  'many aliases': `{ ${many(600, (n) => `a${n}: __typename`)} }`,
  'many fragments': `{ ${many(90, (n) => `...F${n}`)} } ${many(90, (n) => `fragment F${n} on Query { me { id } }`)}`,
  'many directives': `{ __typename ${many(900, () => '@a')} }`,
  'one field a hundred times': `{ ${many(100, () => 'me { id }')} }`,
  'a long name': `{ ${'a'.repeat(BYTES)} }`,
  'a long comment': `#${'a'.repeat(BYTES)}\n{ x }`,
}
