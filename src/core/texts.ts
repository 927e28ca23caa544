import { z } from 'zod'

/** Refuses NUL, which PostgreSQL cannot store, and lone surrogates, which are no text. */
export const noNul = (schema: z.ZodString) =>
  schema
    .refine((text) => !text.includes('\0'), { message: 'must not contain NUL', params: { code: 'invalid_character' } })
    .refine((text) => text.isWellFormed(), {
      message: 'must be well-formed Unicode',
      params: { code: 'invalid_character' },
    })

/** The tenant's own key for a page or a reader. */
export const externalIdSchema = noNul(z.string().min(1).max(255))

/** Nothing that the URL parser would drop or replace in silence: what is stored is what was checked. */
export const isCleanUrl = (text: string): boolean => !/[\s\p{Cc}\p{Surrogate}]/u.test(text)

/** An absolute http or https address of at most 2 048 characters. */
export const webUrl = z
  .string()
  .max(2048)
  .refine((text) => isCleanUrl(text) && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    message: 'must be an http or https URL',
    params: { code: 'invalid_url' },
  })
