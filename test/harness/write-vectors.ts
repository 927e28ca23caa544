// Writes vectors/*.json, as `npm run generate` does. test/unit/vectors.test.ts fails where they are
// not the code's.
import { writeFileSync } from 'node:fs'

import { VECTOR_FILES } from './vectors.ts'

for (const { path, make } of Object.values(VECTOR_FILES)) writeFileSync(path, make())
