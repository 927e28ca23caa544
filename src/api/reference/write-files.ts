// Writes the generated files that are committed, beside the schema: pages of docs, and the
// clients' types of events. With `--check` it fails if a file differs.
import './plain-errors.ts'

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from '../../core/process/root.ts'
import { schema } from '../execution/schema.ts'
import { eventTypes, withEventNames } from './client-events.ts'
import { referencePages } from './pages/doc-pages.ts'
import { writeFormatted } from './write.ts'

const BROWSER = 'src/clients/browser/stream.ts'

const files = {
  ...Object.fromEntries(Object.entries(referencePages(schema)).map(([name, text]) => [`docs/reference/${name}`, text])),
  'src/clients/receiver/events.ts': eventTypes(schema),
  [BROWSER]: withEventNames(readFileSync(join(ROOT, BROWSER), 'utf8')),
}
for (const [name, content] of Object.entries(files)) {
  await writeFormatted(join(ROOT, name), content)
}
