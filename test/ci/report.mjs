// What vitest's JSON report says.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/**
 * Each file of a report: its path from the project's folder, whether it failed, its seconds, and
 * how many tests passed.
 */
export function filesOf(report) {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  return testResults.map(({ name, status, startTime, endTime, assertionResults }) => ({
    file: relative(process.cwd(), name).replaceAll('\\', '/'),
    failed: status === 'failed',
    seconds: Math.round((endTime - startTime) / 100) / 10,
    passed: assertionResults.filter((test) => test.status === 'passed').length,
  }))
}

export const failedFiles = (report) => filesOf(report).flatMap(({ file, failed }) => (failed ? [file] : []))

/** Whether vitest says in its log that there was an error which no test caught. */
export const hasUncaughtError = (log) => /unhandled error/i.test(log)
