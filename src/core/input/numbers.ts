import { z } from 'zod'

/** A whole number from `least` to `most`. */
export const integer = (least: number, most: number) => z.int().min(least).max(most)
