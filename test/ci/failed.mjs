// failed.mjs <report> <log>: prints the files in which a test failed. Ends with 1 where a second
// try of these would not show that all is well: an error that no test caught, many files, or no
// file (something else has failed).
import { readFileSync } from 'node:fs'

import { failedFiles, hasUncaughtError } from './report.mjs'

const MAX_FILES = 3

const [report, log] = process.argv.slice(2)
const files = failedFiles(report)
if (files.length === 0 || files.length > MAX_FILES || hasUncaughtError(readFileSync(log, 'utf8'))) process.exit(1)
console.log(files.join(' '))
