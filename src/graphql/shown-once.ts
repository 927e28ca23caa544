import type { Ctx } from '../core/context.ts'

/** The extension of fields that show a raw secret, for the reference and the tests. */
export const SHOWN_ONCE_EXTENSION = 'shownOnce'

/** The extension of those that some callers get as null. */
export const OR_NULL_EXTENSION = 'orNull'

/**
 * The options of a field that shows the raw secret `name` of its payload. Only the first answer
 * contains the secret: the stored outcome of an `Idempotency-Key` has null instead, so the field is
 * nullable. `orNull`: the payload may have null, too.
 */
export const shownOnce = <Name extends string>(name: Name, { orNull = false } = {}) => ({
  nullable: true as const,
  extensions: { [SHOWN_ONCE_EXTENSION]: true, [OR_NULL_EXTENSION]: orNull },
  resolve: (payload: Readonly<Record<Name, string | null>>, _args: object, ctx: Ctx): string | null => {
    const secret = payload[name]
    if (secret !== null) ctx.shownSecrets?.add(secret)
    return secret
  },
})

/** The options of a field that shows a list of raw secrets, as `shownOnce` shows one. */
export const allShownOnce = <Name extends string>(name: Name) => ({
  nullable: true as const,
  extensions: { [SHOWN_ONCE_EXTENSION]: true },
  resolve: (payload: Readonly<Record<Name, readonly string[]>>, _args: object, ctx: Ctx): readonly string[] => {
    for (const secret of payload[name]) ctx.shownSecrets?.add(secret)
    return payload[name]
  },
})

/** For the description of such a field. */
export const SHOWN_ONCE = 'It is shown only once: a replayed answer leaves it out.'
