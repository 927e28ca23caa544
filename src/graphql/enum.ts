import { builder } from './builder.ts'

/** Adds an enum type. `values` are its values with their descriptions. */
export const addEnum = <Value extends string>(
  name: string,
  description: string,
  values: Readonly<Record<Value, string>>,
) => {
  const described = Object.entries<string>(values).map(([value, text]) => [value, { description: text }] as const)
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(described) as Record<Value, { description: string }>,
  })
}
