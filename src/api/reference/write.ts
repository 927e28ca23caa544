import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

import type { FormatConfig } from 'oxfmt'

import { ROOT } from '../../core/root.ts'

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

/** The same, in the form of `npm run format`. */
export async function writeFormatted(file: string, content: string): Promise<void> {
  // The build, which makes no such file, has no use for it.
  const { format } = await import('oxfmt')
  const options = JSON.parse(readFileSync(join(ROOT, '.oxfmtrc.json'), 'utf8')) as FormatConfig
  const { code, errors } = await format(file, content, options)
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join('; ')}`)
  writeOrCheck(file, code)
}
