import { createRequire } from 'node:module'
import { join } from 'node:path'

import { ROOT } from './markdown.ts'

const require = createRequire(join(ROOT, 'examples/package.json'))

/** Where a module of the examples' packages is; undefined unless these are installed. */
export function findInExamples(name: string): string | undefined {
  try {
    return require.resolve(name)
  } catch {
    return undefined
  }
}
