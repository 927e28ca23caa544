// count.mjs <folder>: how many tests passed, by the reports `<run>-<try>.json`. For a file with a
// second try, only that counts.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
const reports = readdirSync(folder).filter((name) => name.endsWith('.json'))
const last = new Map()
for (const report of reports.sort()) {
  const run = report.slice(0, report.lastIndexOf('-'))
  const { testResults } = JSON.parse(readFileSync(join(folder, report), 'utf8'))
  for (const { name, assertionResults } of testResults) last.set(`${run} ${name}`, assertionResults)
}
const passed = [...last.values()].flat().filter(({ status }) => status === 'passed')
console.log(`\n${passed.length} passed`)
