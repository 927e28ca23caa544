// Deletes from a production install what the service never loads: compilers for other databases, types,
// source maps, tests, binaries for other platforms. Usage: node deploy/image/prune.mjs [folder of the service]
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(process.argv[2] ?? '.')
const modules = join(root, 'node_modules')

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
const remove = (path) => rmSync(path, { recursive: true, force: true })

// Node loads none of these from node_modules. Licences stay, whatever the format.
const UNUSED = /\.(map|[cm]?ts|tsbuildinfo)$|(?<!licen[cs]e|notice|copying)\.(md|markdown)$/i
filesBelow(modules)
  .filter((file) => UNUSED.test(file))
  .forEach(remove)

// Beside a package.json, these hold nothing that a program imports.
const ASIDE = ['test', 'tests', 'benchmark', 'benchmarks', 'bench', 'docs', 'examples']
filesBelow(modules)
  .filter((file) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(file))
  .flatMap((file) => ASIDE.map((name) => join(file, '..', name)))
  .forEach(remove)

// Prisma's client brings each of its query compilers four times, for five databases. The service
// names the one that it loads.
const service = filesBelow(join(root, 'dist/chunks'))
  .filter((file) => file.endsWith('.js'))
  .map((file) => readFileSync(file, 'utf8'))
  .join()
const runtime = join(modules, '@prisma/client/runtime')
for (const name of readdirSync(runtime)) {
  if (/^(query_compiler|wasm-compiler)/.test(name) && !service.includes(name)) remove(join(runtime, name))
}

const prebuilds = join(modules, 'fs-native-extensions/prebuilds')
for (const name of readdirSync(prebuilds)) {
  if (name !== `${process.platform}-${process.arch}`) remove(join(prebuilds, name))
}

// GraphiQL, a second time as CommonJS.
remove(join(modules, '@graphql-yoga/render-graphiql/cjs'))
