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

const isOf = (name: string, ...folders: string[]): boolean =>
  folders.some((folder) => name.startsWith(`src/${folder}/`))
const sources = files('src').filter((name) => !isOf(name, 'generated'))
const generatedFrom = digest([...sources, 'prisma/schema.prisma', 'codegen.ts', 'package-lock.json'])
if (!isCurrent(generatedStamp, generatedFrom)) {
  console.error('Building …')
  run('prisma/build/index.js', 'generate')
  run('tsx/dist/cli.mjs', 'codegen.ts')
  writeFileSync(generatedStamp, generatedFrom)
}

const builtFrom = digest([
  ...sources.filter((name) => !isOf(name, 'console', 'widget')),
  ...files('src/generated'),
  'tsconfig.json',
])
if (!isCurrent(builtStamp, builtFrom)) {
  run('typescript/bin/tsc', '-p', 'src')
  run('typescript/bin/tsc', '-p', 'src/client')
  // Types only where others import from: those of the rest would be thousands of lines that nobody reads.
  for (const name of ['backend', 'client', 'webhooks']) {
    run(
      'typescript/bin/tsc',
      '-p',
      `src/${name}`,
      '--declaration',
      '--emitDeclarationOnly',
      '--removeComments',
      'false',
    )
  }
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(builtStamp, builtFrom)
}

// What browsers load is bundled, each when it has changed itself.
const generated = files('src/generated').filter((name) => /\/(console\.ts|settings\.json)$/.test(name))
bundle('console', [...sources.filter((name) => isOf(name, 'console')), ...generated])
bundle(
  'widget',
  sources.filter((name) => isOf(name, 'widget', 'client')),
)

function bundle(name: string, from: readonly string[]): void {
  const stamp = join(root, `dist/.${name}-stamp`)
  const bundledFrom = digest([...from, 'package-lock.json'])
  if (isCurrent(stamp, bundledFrom)) return
  run('vite/bin/vite.js', 'build', '--config', `src/${name}/vite.config.ts`)
  writeFileSync(stamp, bundledFrom)
}
