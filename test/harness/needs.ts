import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What test files need made before they run. */
export interface Needs {
  /** `dist` and `src/generated`. */
  build: boolean
  /** A migrated database to copy. */
  database: boolean
}

/** They load nothing. */
const TYPE_IMPORTS = /^(?:import|export) type [^']*'[^']*'$/gm
/** Modules of the project, whether imported or run by their path. */
const MODULES = /'(\.\.?\/[^']+\.tsx?)'/g
const BUILT = /\/generated\/|\bdist\b|'\.\/first-page\.js'/
const DATABASE = join(import.meta.dirname, 'database.ts')

/** What `files` need made. All but unit tests need everything. */
export function needsOf(files: readonly string[]): Needs {
  if (files.some((file) => !file.includes('/test/unit/'))) return { build: true, database: true }
  const texts = new Map<string, string>()
  for (const file of files) addModules(file, texts)
  return { build: Array.from(texts.values()).some((text) => BUILT.test(text)), database: texts.has(DATABASE) }
}

/** Adds the texts of a module and of all that it loads. */
function addModules(file: string, texts: Map<string, string>): void {
  if (texts.has(file) || !existsSync(file)) return
  const text = readFileSync(file, 'utf8').replaceAll(TYPE_IMPORTS, '')
  texts.set(file, text)
  for (const [, module = ''] of text.matchAll(MODULES)) addModules(join(dirname(file), module), texts)
}
