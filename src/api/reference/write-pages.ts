// Writes the pages of docs/reference that the code knows; with `--check` it fails where they are
// not the code's.
import { join } from 'node:path'

import { format, resolveConfig } from 'prettier'

import { schema } from '../graphql/schema.ts'
import { referencePages } from './doc-pages.ts'
import { writeOrCheck } from './write.ts'

for (const [name, markdown] of Object.entries(referencePages(schema))) {
  const file = join(import.meta.dirname, '../../../docs/reference', name)
  writeOrCheck(file, await format(markdown, { ...(await resolveConfig(file)), filepath: file }))
}
