// Brings dist/ up to date, and does nothing that is not needed: a start on a warm build must not wait for it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const root = join(import.meta.dirname, '..')
const generatedStamp = join(root, 'src/generated/.stamp')
const builtStamp = join(root, 'dist/.stamp')

const files = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()

function digest(names: readonly string[]): string {
  const hash = createHash('sha256')
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(join(root, name)))
  return hash.digest('hex')
}

const isCurrent = (stamp: string, value: string): boolean => existsSync(stamp) && readFileSync(stamp, 'utf8') === value

function run(script: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', script), ...args], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status === 0) return
  // A compiler tells its errors on standard output.
  console.error(`${stdout}${stderr}`)
  process.exit(1)
}

const sources = files('src').filter((name) => !name.startsWith('src/generated/'))
const generatedFrom = digest([...sources, 'prisma/schema.prisma', 'codegen.ts', 'package-lock.json'])
if (!isCurrent(generatedStamp, generatedFrom)) {
  console.error('Building …')
  run('prisma/build/index.js', 'generate')
  run('tsx/dist/cli.mjs', 'codegen.ts')
  writeFileSync(generatedStamp, generatedFrom)
}

const builtFrom = digest([...sources, ...files('src/generated'), 'tsconfig.json'])
if (!isCurrent(builtStamp, builtFrom)) {
  run('typescript/bin/tsc', '-p', 'src')
  // Types only where others import from: those of the rest would be thousands of lines that nobody reads.
  run('typescript/bin/tsc', '-p', 'src/webhooks')
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(builtStamp, builtFrom)
}
