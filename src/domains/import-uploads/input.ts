import { z } from 'zod'

import { atMost, noNul } from '../../core/input/texts.ts'
import { PAGE_RULES, SOURCE_ALIAS, SOURCE_NAMES } from '../imports/options.ts'
import { MAX_UPLOAD_BYTES } from './sizes.ts'

/** The most characters of a table, which comes with the request. */
const MAX_TABLE_LENGTH = 100_000

const MAX_FILE_NAME_LENGTH = 200

const table = noNul(atMost(MAX_TABLE_LENGTH, z.string().min(1))).nullish()

const optionsShape = {
  map: table,
  authors: table,
  page: z.enum(PAGE_RULES, `must be one of ${PAGE_RULES.join(', ')}`).nullish(),
  keepQuery: z.boolean().nullish(),
  as: z.string().regex(SOURCE_ALIAS, 'must be 1 to 40 letters, digits, hyphens and underscores').nullish(),
}

/** What the command line gets by `--map` and the like. */
const optionsSchema = z.object(optionsShape)

export type UploadOptions = z.output<typeof optionsSchema>

export const uploadInput = z.object({
  source: z.enum(SOURCE_NAMES, `must be one of ${SOURCE_NAMES.join(', ')}`),
  fileName: noNul(atMost(MAX_FILE_NAME_LENGTH, z.string().trim().min(1))).refine(
    (name) => !/[/\\\p{Cc}]/u.test(name),
    'must be the name of a file, without its folder',
  ),
  bytes: z.int().min(1).max(MAX_UPLOAD_BYTES),
  ...optionsShape,
})

export type UploadInput = z.input<typeof uploadInput>
