// lock-files.mjs [folder]: ends with 1 where a lock file of the repository there is not in step
// with the package.json beside it, so that `npm ci` would refuse it, and names it.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'

const [root = '.'] = process.argv.slice(2)
const run = (command, args, cwd) => spawnSync(command, args, { cwd, encoding: 'utf8' })

const { stdout } = run('git', ['ls-files', 'package-lock.json', '**/package-lock.json'], root)
const files = stdout.trim().split('\n')
const stale = files.filter((file) => {
  const check = ['ci', '--dry-run', '--ignore-scripts', '--offline', '--silent']
  return run('npm', check, join(root, dirname(file))).status !== 0
})
for (const file of stale) console.error(`${file} is not in step with its package.json: run npm install beside it`)
process.exit(stale.length === 0 ? 0 : 1)
