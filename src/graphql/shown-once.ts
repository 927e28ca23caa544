import type { Ctx } from '../core/context.ts'

/** The extension of fields that show a raw secret, for the reference and the tests. */
export const SHOWN_ONCE_EXTENSION = 'shownOnce'

/**
 * The options of a field that shows the raw secret `name` of its payload. Only the first answer
 * contains the secret: the stored outcome of an `Idempotency-Key` has null instead, so the field is
 * nullable.
 */
export const shownOnce = <Name extends string>(name: Name) => ({
  nullable: true as const,
  extensions: { [SHOWN_ONCE_EXTENSION]: true },
  resolve: (payload: Readonly<Record<Name, string>>, _args: object, ctx: Ctx): string => {
    const secret = payload[name]
    ctx.shownSecrets?.add(secret)
    return secret
  },
})

/** For the description of such a field. */
export const SHOWN_ONCE = 'It is shown only once: a replayed answer leaves it out.'
