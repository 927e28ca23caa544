import type { Access } from '../core/access.ts'
import type { Capability } from '../core/capabilities.ts'

const SHOWN_WITH_EXTENSION = 'shownWith'

interface ShownWith {
  readonly capabilities: readonly Capability[]
  readonly description: string
  readonly isNullable: boolean
}

/**
 * The options of a field that only callers with one of these capabilities get: for others it is
 * null, as its description says in GraphQL. `isNullable`: it may be null for them as well.
 */
export const shownWith = (
  description: string,
  capabilities: readonly Capability[],
  { isNullable = false, except = '' } = {},
) => {
  const own: ShownWith = { capabilities, description, isNullable }
  return {
    nullable: true as const,
    description: `${description} Null without ${capabilities.join(' or ')}${except}.`,
    extensions: { [SHOWN_WITH_EXTENSION]: own },
  }
}

/** Whether only some callers get a field. */
export const isShownToSome = (extensions: Readonly<Record<string, unknown>>): boolean =>
  extensions[SHOWN_WITH_EXTENSION] !== undefined

/** The restriction of a field that callers who have passed `access` get; else undefined. */
export function shownTo(
  extensions: Readonly<Record<string, unknown>>,
  access: Access | undefined,
): ShownWith | undefined {
  const own = extensions[SHOWN_WITH_EXTENSION] as ShownWith | undefined
  return own?.capabilities.some((capability) => access === 'admin' || access === capability) === true ? own : undefined
}
