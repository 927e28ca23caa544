// Brings dist/ up to date. A step runs only if its inputs have changed, because each start waits
// for this.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'

import { ROOT as root } from '../core/process/root.ts'
import { packTemplate, readTemplate, templateFile } from '../data/embedded/template.ts'

/** A build step, which runs if the digest of its inputs differs from the one in its stamp. */
interface Step {
  name: string
  stamp: string
  inputs: readonly string[]
  build: () => Promise<void>
}

/** A package and an image contain the build, but not its sources. */
if (!existsSync(join(root, 'src/main.ts'))) process.exit()
/** A production install has no compilers. */
const hasTools = existsSync(join(root, 'node_modules/tsx'))

/** The programs: files of `dist`, and of `src`. A command is started by its guard. */
const PROGRAMS: Readonly<Record<string, string>> = {
  bin: 'bin',
  main: 'main',
  'cli/cli': 'cli/guard',
  'cli/command': 'cli/cli',
  'cli/health': 'cli/health',
  'data/embedded-child': 'data/embedded/child',
}
/** `npm run build` for a production install, what each program runs first, and a thread. */
const HELPERS = {
  build: 'build/build',
  'compile-cache': 'core/process/compile-cache',
  'data/unpack': 'data/embedded/unpack',
}

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

/** Runs the due steps concurrently. */
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
    // An interrupted build leaves files of two states, so it must run again.
    rmSync(path, { force: true })
    await build()
    writeFileSync(path, from)
  }
  await Promise.all(steps.map(runOne))
}

const isIn = (name: string, ...folders: string[]): boolean =>
  folders.some((folder) => name.startsWith(`src/${folder}/`))
const sources = files('src').filter((name) => !isIn(name, 'generated'))
const isDrawn = (name: string): boolean => isIn(name, 'clients/widget', 'clients/first-page')
const clientSources = sources.filter((name) => isIn(name, 'clients') && !isDrawn(name))
const serviceSources = sources.filter((name) => !isIn(name, 'console', 'clients', 'docs'))
const consoleSources = sources.filter((name) => isIn(name, 'console'))
const docsSources = sources.filter((name) => isIn(name, 'docs'))

const makesClient = runDue({
  name: 'database client',
  stamp: 'src/generated/.prisma-stamp',
  inputs: ['prisma/schema.prisma', 'package-lock.json'],
  build: () => run('prisma/build/index.js', 'generate'),
})
await Promise.all([
  makesClient.then(makeTemplate),
  makesClient.then(buildFromDocuments),
  runDue(
    {
      name: 'first page',
      stamp: 'dist/.first-page-stamp',
      inputs: [...sources.filter(isDrawn), 'package-lock.json'],
      build: () => bundle('src/clients/first-page'),
    },
    {
      name: 'clients',
      stamp: 'dist/.clients-stamp',
      inputs: [...clientSources, 'tsconfig.json', 'package-lock.json'],
      build: buildClients,
    },
    {
      name: 'documentation',
      stamp: 'dist/.docs-stamp',
      inputs: [...files('docs'), ...docsSources, 'src/console/public/icon.svg', 'package-lock.json'],
      build: () => run('tsx/dist/cli.mjs', 'src/docs/build.ts'),
    },
    {
      name: 'widget',
      stamp: 'dist/.widget-stamp',
      inputs: [...sources.filter((name) => isIn(name, 'clients/widget', 'clients/browser')), 'package-lock.json'],
      build: async () => {
        await bundle('src/clients/widget')
        await bundle('src/clients/widget/lists')
        await run('typescript/bin/tsc', '-p', 'src/clients/widget/tsconfig.types.json')
      },
    },
  ),
])

async function buildFromDocuments(): Promise<void> {
  // It loads the schema, which needs the database client.
  await runDue({
    name: 'typed documents',
    stamp: 'src/generated/.codegen-stamp',
    inputs: [
      ...serviceSources,
      ...consoleSources.filter((name) => name.endsWith('.graphql')),
      'prisma/schema.prisma',
      'codegen.ts',
      'package-lock.json',
    ],
    build: () => run('tsx/dist/cli.mjs', 'codegen.ts', '--documents'),
  })
  // Only types depend on this file, so it does not change the bundle.
  const generated = files('src/generated').filter((name) => basename(name) !== 'statements.ts')
  await runDue(
    {
      name: 'service',
      stamp: 'dist/.stamp',
      inputs: [...serviceSources, ...generated.filter((name) => name.endsWith('.ts')), 'package-lock.json'],
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
  )
}

/**
 * Bundles the service into a few files, because a start that reads a thousand takes longer. `npm
 * run check` checks the types.
 */
async function buildService(): Promise<void> {
  const chunkOf = (program: string): string => `chunks/${basename(program)}`
  const input = [
    ...Object.entries(HELPERS),
    ...Object.entries(PROGRAMS).map(([program, source]) => [chunkOf(program), source] as const),
  ]
  const output = await bundleService(Object.fromEntries(input.map(([name, source]) => [name, `src/${source}.ts`])))
  for (const program of Object.keys(PROGRAMS)) {
    const up = program.includes('/') ? '..' : '.'
    // What is imported dynamically is compiled after the cache has been opened.
    const text = `#!/usr/bin/env node\nimport '${up}/compile-cache.js'\n\nawait import('${up}/${chunkOf(program)}.js')\n`
    mkdirSync(dirname(join(root, `dist/${program}`)), { recursive: true })
    writeFileSync(join(root, `dist/${program}.js`), text)
    output.push(`${program}.js`)
  }
  // Files of an older build must not be run, and Node never removes what it has compiled of them.
  const kept = new Set(output.map((fileName) => `dist/${fileName}`))
  for (const name of files('dist').filter((each) => /\.(js|d\.ts)(\.map)?$|\/chunks\//.test(each))) {
    const isOther = /^dist\/(clients|console|docs|widget|packages)\//.test(name)
    if (!isOther && !kept.has(name)) rmSync(join(root, name), { force: true })
  }
  rmSync(join(root, 'dist/.compile-cache'), { recursive: true, force: true })
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`
}

async function bundleService(input: Record<string, string>): Promise<string[]> {
  const { rolldown } = await import('rolldown')
  const build = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    // Packages that read their own files; GraphiQL, which is 9 MB and seldom needed; and packages
    // that only a build needs.
    external:
      /^(@electric-sql\/pglite|@graphql-yoga\/render-graphiql|@prisma\/(client|schema-engine-wasm)|fs-native-extensions|pg-native|rolldown)/,
    checks: { pluginTimings: false },
    // A process parses the file's source map at its first error. With those of all packages that
    // takes 80 ms and 47 MB, without them 25 ms and 12 MB.
    plugins: [
      {
        name: 'packages',
        transform: {
          filter: { id: /node_modules/ },
          handler: (code) => ({ code, map: { mappings: '' } }),
        },
      },
      {
        name: 'ascii',
        // Text that `charset` does not escape: names in licences.
        renderChunk: (code) => ({ code: code.replaceAll(/\P{ASCII}/gu, escaped), map: null }),
      },
    ],
  })
  const { output } = await build.write({
    dir: 'dist',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // V8 stores pure ASCII text in half of the memory.
    charset: 'ascii',
    comments: { legal: true, annotation: false, jsdoc: false },
    chunkFileNames: 'chunks/[name].js',
  })
  await build.close()
  return output.map(({ fileName }) => fileName)
}

/** The modules for other programs, with their types. */
async function buildClients(): Promise<void> {
  const tsc = (name: string, ...args: string[]) => run('typescript/bin/tsc', '-p', `src/clients/${name}`, ...args)
  // The components are those of React and Vue.
  await Promise.all(['backend', 'receiver', 'elements'].map((name) => tsc(name, '--declaration')))
  // These also write modules of those before; the variant without comments comes last.
  await tsc('browser', '--declaration', '--emitDeclarationOnly', '--removeComments', 'false')
  await tsc('browser')
  await tsc('graphql', '--declaration', '--emitDeclarationOnly')
  await tsc('graphql', '--removeComments')
}

/** The database for first starts. Its name changes only with the migrations or PGlite. */
async function makeTemplate(): Promise<void> {
  const file = templateFile()
  if (!hasTools || readTemplate(file) !== null) return
  console.error('Building the first database …')
  const folder = mkdtempSync(join(tmpdir(), 'engagement-template-'))
  try {
    await run('tsx/dist/cli.mjs', 'src/data/embedded/child.ts', folder)
    rmSync(dirname(file), { recursive: true, force: true })
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(`${file}.part`, packTemplate(folder), { flush: true })
    renameSync(`${file}.part`, file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function bundle(folder: string): Promise<void> {
  return run('vite/bin/vite.js', 'build', '--config', `${folder}/vite.config.ts`)
}

/**
 * A page that was opened before an upgrade still loads files of its own build, so the previous
 * build's files are kept.
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

/** The files of the console's last build whose names contain a hash of their content. */
function bundledFiles(): string[] {
  const manifest = join(root, 'dist/console/manifest.json')
  if (!existsSync(manifest)) return []
  const chunks: Record<string, { file: string; css?: string[] }> = JSON.parse(readFileSync(manifest, 'utf8'))
  return Object.values(chunks).flatMap(({ file, css = [] }) => [file, ...css])
}
