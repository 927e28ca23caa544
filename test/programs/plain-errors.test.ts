import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

import { expect, test } from 'vitest'

const FILE = join(import.meta.dirname, '../../src/api/reference/plain-errors.ts')

const failing = (error: string) =>
  spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', `import '${FILE}'\nthrow ${error}`], {
    encoding: 'utf8',
  })

test('an error that says what npm run generate lacks is shown without its stack', () => {
  const { status, stderr } = failing(`new Error('Error 0: no field\\n    at validate (x.js:1:2)\\nadd it')`)
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'Error 0: no field\nadd it\n' })
})

test('a bug of the generator is shown with its stack', () => {
  const { status, stderr } = failing(`new TypeError('undefined is not a function')`)
  expect(status).toBe(1)
  expect(stderr).toMatch(/^TypeError: undefined is not a function\n {4}at /)
})
