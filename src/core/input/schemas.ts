import { z } from 'zod'

// Parts of the schemas of inputs.

/** A whole number from `least` to `most`. */
export const integer = (least: number, most: number) => z.int().min(least).max(most)

/** For a check of a schema: the code and the text of a wrong value. */
export const wrong = (code: string, message: string) => ({ message, params: { code } })

/** Whether no value stands twice in a list. */
export const isDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length
