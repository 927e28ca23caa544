import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

import type { FormatConfig } from 'oxfmt'

import { ROOT } from '../../core/process/root.ts'

/** Writes a generated file. With `--check` it ends the process instead if the file differs. */
export function writeOrCheck(file: string, content: string): void {
  const current = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (current === content) return
  if (!process.argv.includes('--check')) return writeFileSync(file, content)
  console.error(`${relative(process.cwd(), file)} is not that of the code: run \`npm run generate\` and commit it`)
  process.exit(1)
}

/** Like `writeOrCheck`, with the content formatted as by `npm run format`. */
export async function writeFormatted(file: string, content: string): Promise<void> {
  // Loaded here, because the build writes no such files.
  const { format } = await import('oxfmt')
  const options = JSON.parse(readFileSync(join(ROOT, '.oxfmtrc.json'), 'utf8')) as FormatConfig
  const { code, errors } = await format(file, content, options)
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join('; ')}`)
  writeOrCheck(file, code)
}
