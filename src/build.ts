// Brings dist/ up to date. A step runs only when its inputs have changed, because each start waits
// for this.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Something to build: the step runs when the digest of its inputs is not the one in its stamp. */
interface Step {
  name: string
  stamp: string
  inputs: readonly string[]
  build: () => Promise<void>
}

const root = join(import.meta.dirname, '..')
/** A package and an image hold what was built, without its sources. */
if (!existsSync(join(root, 'src/main.ts'))) process.exit()
/** A production install has no compilers. */
const hasTools = existsSync(join(root, 'node_modules/tsx'))

const files = (folder: string): string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(root, join(entry.parentPath, entry.name)))
        .sort()
    : []

function digest(names: readonly string[]): string {
  const hash = createHash('sha256')
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(join(root, name)))
  return hash.digest('hex')
}

function run(script: string, ...args: string[]): Promise<void> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(root, 'node_modules', script), ...args],
      { cwd: root },
      (error, stdout, stderr) => {
        if (error === null) return resolve()
        // Compilers write their errors to standard output.
        console.error(`${stdout}${stderr}`)
        process.exit(1)
      },
    )
  })
}

/** Runs the steps that are due, side by side. */
async function runDue(...steps: readonly Step[]): Promise<void> {
  const runOne = async ({ name, stamp, inputs, build }: Step): Promise<void> => {
    const path = join(root, stamp)
    const from = digest(inputs)
    if (existsSync(path) && readFileSync(path, 'utf8') === from) return
    if (!hasTools) {
      console.error(
        `What was built of the ${name} is older than its sources. Install all with \`npm ci\`, then run \`npm run build\`.`,
      )
      process.exit(1)
    }
    console.error(`Building the ${name} …`)
    // A build that is interrupted leaves files of two states, and so must run again.
    rmSync(path, { force: true })
    await build()
    writeFileSync(path, from)
  }
  await Promise.all(steps.map(runOne))
}

const isIn = (name: string, ...folders: string[]): boolean =>
  folders.some((folder) => name.startsWith(`src/${folder}/`))
const sources = files('src').filter((name) => !isIn(name, 'generated'))
const serviceSources = sources.filter((name) => !isIn(name, 'console', 'clients/widget'))
const consoleSources = sources.filter((name) => isIn(name, 'console'))

await runDue({
  name: 'database client',
  stamp: 'src/generated/.prisma-stamp',
  inputs: ['prisma/schema.prisma', 'package-lock.json'],
  build: () => run('prisma/build/index.js', 'generate'),
})
// It loads the schema, which needs the client.
await runDue({
  name: 'typed documents',
  stamp: 'src/generated/.codegen-stamp',
  inputs: [
    ...serviceSources,
    ...consoleSources.filter((name) => name.endsWith('.graphql')),
    ...files('prisma'),
    'codegen.ts',
    'package-lock.json',
  ],
  build: () => run('tsx/dist/cli.mjs', 'codegen.ts'),
})

const generated = files('src/generated')
await runDue(
  {
    name: 'service',
    stamp: 'dist/.stamp',
    inputs: [
      ...serviceSources,
      ...generated.filter((name) => name.endsWith('.ts')),
      'tsconfig.json',
      'package-lock.json',
    ],
    build: buildService,
  },
  {
    name: 'console',
    stamp: 'dist/.console-stamp',
    inputs: [
      ...consoleSources,
      ...generated.filter((name) => /\/(console\.ts|settings\.json|audit-actions\.json)$/.test(name)),
      'package-lock.json',
    ],
    build: buildConsole,
  },
  {
    name: 'widget',
    stamp: 'dist/.widget-stamp',
    inputs: [...sources.filter((name) => isIn(name, 'clients/widget', 'clients/browser')), 'package-lock.json'],
    build: () => bundle('src/clients/widget'),
  },
)

async function buildService(): Promise<void> {
  const tsc = (...args: string[]) => run('typescript/bin/tsc', '-p', ...args)
  // Types only where others import from: those of the rest would be thousands of lines that nobody
  // reads.
  const types = ['--declaration', '--emitDeclarationOnly', '--removeComments', 'false']
  await Promise.all([
    // Both write what the receiver's types compile to; the one without comments comes last.
    tsc('src').then(() => tsc('src/clients/browser')),
    ...['backend', 'browser', 'receiver'].map((name) => tsc(`src/clients/${name}`, ...types)),
  ])
  await bundleTracing()
  removeStale()
}

/**
 * OpenTelemetry's packages take 27 MB, of which the service needs less than one: they go into one
 * file, and are no dependencies of a process in production.
 */
async function bundleTracing(): Promise<void> {
  const { build } = await import('vite')
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    ssr: { noExternal: true },
    build: {
      ssr: 'src/data/tracing-sdk.ts',
      outDir: 'dist/data',
      emptyOutDir: false,
      target: 'node20',
      sourcemap: true,
      minify: false,
      reportCompressedSize: false,
    },
  })
}

/** Removes what was compiled from sources that are gone, so that nothing runs or imports it. */
function removeStale(): void {
  const known = new Set([...sources, ...generated])
  for (const name of files('dist').filter((each) => /\.(js|d\.ts)(\.map)?$/.test(each))) {
    const isBundle = /^dist\/(console|widget|packages)\//.test(name)
    const source = name.replace(/^dist/, 'src').replace(/\.(js|d\.ts)(\.map)?$/, '.ts')
    if (!isBundle && !known.has(source)) rmSync(join(root, name), { force: true })
  }
}

function bundle(folder: string): Promise<void> {
  return run('vite/bin/vite.js', 'build', '--config', `${folder}/vite.config.ts`)
}

/**
 * A page that was opened before an upgrade loads files of its own build: those are kept for one
 * build more.
 */
async function buildConsole(): Promise<void> {
  const before = bundledFiles()
  await bundle('src/console')
  const now = bundledFiles()
  if (now.join() === before.join()) return
  const kept = new Set([...now, ...before])
  for (const name of files('dist/console/assets').map((path) => relative('dist/console', path))) {
    if (!kept.has(name)) rmSync(join(root, 'dist/console', name))
  }
}

/** The files of the console's last build that are named by their content. */
function bundledFiles(): string[] {
  const manifest = join(root, 'dist/console/manifest.json')
  if (!existsSync(manifest)) return []
  const chunks: Record<string, { file: string; css?: string[] }> = JSON.parse(readFileSync(manifest, 'utf8'))
  return Object.values(chunks).flatMap(({ file, css = [] }) => [file, ...css])
}
