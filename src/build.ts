// Brings dist/ up to date, and does nothing that is not needed: a start on a warm build must not
// wait for it.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
  ...sources.filter((name) => !isOf(name, 'console', 'clients/widget')),
  ...files('src/generated'),
  'tsconfig.json',
])
if (!isCurrent(builtStamp, builtFrom)) {
  run('typescript/bin/tsc', '-p', 'src')
  run('typescript/bin/tsc', '-p', 'src/clients/browser')
  // Types only where others import from: those of the rest would be thousands of lines that nobody
  // reads.
  for (const name of ['backend', 'browser', 'receiver']) {
    run(
      'typescript/bin/tsc',
      '-p',
      `src/clients/${name}`,
      '--declaration',
      '--emitDeclarationOnly',
      '--removeComments',
      'false',
    )
  }
  removeStale()
  writeFileSync(builtStamp, builtFrom)
}

/** What was compiled of sources that are no more: nobody may run or import it by mistake. */
function removeStale(): void {
  const known = new Set([...sources, ...files('src/generated')])
  for (const name of files('dist').filter((each) => /\.(js|d\.ts)(\.map)?$/.test(each))) {
    const isBundle = /^dist\/(console|widget)\//.test(name)
    const source = name.replace(/^dist/, 'src').replace(/\.(js|d\.ts)(\.map)?$/, '.ts')
    if (!isBundle && !known.has(source)) rmSync(join(root, name))
  }
}

// What browsers load is bundled, each when it has changed itself.
const consoleFiles = join(root, 'dist/console')
const filesBefore = builtFiles()
const generated = files('src/generated').filter((name) => /\/(console\.ts|settings\.json)$/.test(name))
bundle('console', 'src/console', [...sources.filter((name) => isOf(name, 'console')), ...generated])
bundle(
  'widget',
  'src/clients/widget',
  sources.filter((name) => isOf(name, 'clients/widget', 'clients/browser')),
)

if (builtFiles().join() !== filesBefore.join()) removeOldFiles(new Set([...builtFiles(), ...filesBefore]))

/** The files with names of their content that the last build of the console has made. */
function builtFiles(): string[] {
  const manifest = join(consoleFiles, 'manifest.json')
  if (!existsSync(manifest)) return []
  const chunks: Record<string, { file: string; css?: string[] }> = JSON.parse(readFileSync(manifest, 'utf8'))
  return Object.values(chunks).flatMap(({ file, css = [] }) => [file, ...css])
}

/**
 * A page that was opened before an upgrade loads files of its own build: those are kept for one
 * build more.
 */
function removeOldFiles(kept: ReadonlySet<string>): void {
  for (const name of readdirSync(join(consoleFiles, 'assets'))) {
    if (!kept.has(`assets/${name}`)) rmSync(join(consoleFiles, 'assets', name))
  }
}

function bundle(name: string, folder: string, from: readonly string[]): void {
  const stamp = join(root, `dist/.${name}-stamp`)
  const bundledFrom = digest([...from, 'package-lock.json'])
  if (isCurrent(stamp, bundledFrom)) return
  run('vite/bin/vite.js', 'build', '--config', `${folder}/vite.config.ts`)
  writeFileSync(stamp, bundledFrom)
}
