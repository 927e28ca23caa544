import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

/**
 * Writes a file that the code makes. With `--check` it ends the process instead where the file is
 * another one.
 */
export function writeOrCheck(file: string, content: string): void {
  const current = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (current === content) return
  if (!process.argv.includes('--check')) return writeFileSync(file, content)
  console.error(`${relative(process.cwd(), file)} is not that of the code: run \`npm run generate\` and commit it`)
  process.exit(1)
}
