// Makes the packages for sites from the files of `npm run build`: one of each folder in src/clients
// that has a package.json, with its README and changelog. Their version is that of the service, and
// so is whether they may be published (`private`).
// Usage: node deploy/npm/packages.mjs [folder, else dist/packages]
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = join(import.meta.dirname, '../..')
const made = resolve(process.argv[2] ?? join(root, 'dist/packages'))
const clients = join(root, 'src/clients')
const read = (path) => JSON.parse(readFileSync(path, 'utf8'))
const { version, license, engines, private: isPrivate } = read(join(root, 'package.json'))

for (const name of readdirSync(clients).filter((each) => existsSync(join(clients, each, 'package.json'))))
  makePackage(join(clients, name), join(made, name))

/**
 * Where a name of `files` is: a folder of the build, or a file of this repository. Of the widget,
 * `dist/clients` has the types and `dist` the scripts.
 */
function sourcesOf(name) {
  if (name === 'widget') return ['dist/clients/widget', 'dist/widget']
  return [name.includes('.') ? name : `dist/clients/${name}`]
}

/** Throws if something of `files` of the package.json in `from` does not exist. */
function makePackage(from, to) {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  const { files, ...manifest } = read(join(from, 'package.json'))
  const whole = { ...manifest, version, license, engines, private: isPrivate }
  writeFileSync(join(to, 'package.json'), JSON.stringify(whole, null, 2))
  for (const name of ['README.md', 'CHANGELOG.md']) cpSync(join(from, name), join(to, name))
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'))
  for (const name of files) for (const source of sourcesOf(name)) copy(join(root, source), join(to, name))
}

/** Of a folder its code, without source maps, whose sources are not in the package. */
function copy(from, to) {
  if (!statSync(from).isDirectory()) return cpSync(from, to)
  for (const name of readdirSync(from, { recursive: true }).filter((each) => /\.(js|d\.ts)$/.test(each))) {
    const text = readFileSync(join(from, name), 'utf8')
    mkdirSync(dirname(join(to, name)), { recursive: true })
    writeFileSync(join(to, name), text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ''))
  }
}
