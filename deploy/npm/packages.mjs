// Makes the packages for sites from the files of `npm run build`: @engagement-service/client, and
// those of src/clients that have a package.json. Their version is that of the service, and so is
// whether they may be published (`private`).
// Usage: node deploy/npm/packages.mjs [folder, else dist/packages]
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'

const root = join(import.meta.dirname, '../..')
const made = resolve(process.argv[2] ?? join(root, 'dist/packages'))
const clients = join(root, 'src/clients')
const read = (path) => JSON.parse(readFileSync(path, 'utf8'))
const { version, license, engines, private: isPrivate } = read(join(root, 'package.json'))

for (const name of readdirSync(clients).filter((each) => existsSync(join(clients, each, 'package.json'))))
  makePackage(join(clients, name))
makePackage(join(import.meta.dirname, 'client'))
cpSync(join(import.meta.dirname, 'client/widget.d.ts'), join(made, 'client/widget/widget.d.ts'))
writeWidgetTypes(join(made, 'client/widget'))

/** From the folder with its README and its package.json, whose `files` are folders of the build. */
function makePackage(from) {
  const to = join(made, basename(from))
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  const manifest = { ...read(join(from, 'package.json')), version, license, engines, private: isPrivate }
  writeFileSync(join(to, 'package.json'), JSON.stringify(manifest, null, 2))
  cpSync(join(from, 'README.md'), join(to, 'README.md'))
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'))
  for (const name of manifest.files) {
    const source = [`dist/clients/${name}`, `dist/${name}`, name].map((each) => join(root, each)).find(existsSync)
    if (statSync(source).isDirectory()) copyCode(source, join(to, name))
    else cpSync(source, join(to, name))
  }
}

/** Without source maps, whose sources are not in the package. */
function copyCode(from, to) {
  mkdirSync(to)
  for (const name of readdirSync(from).filter((each) => /\.(js|d\.ts)$/.test(each))) {
    const text = readFileSync(join(from, name), 'utf8')
    writeFileSync(join(to, name), text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ''))
  }
}

/** The types of the widget's texts; those of its elements would need the types of its libraries. */
function writeWidgetTypes(to) {
  const folder = mkdtempSync(join(tmpdir(), 'engagement-types-'))
  try {
    const options = [
      '--noEmit',
      'false',
      '--declaration',
      '--emitDeclarationOnly',
      '--outDir',
      folder,
      '--rootDir',
      'src',
    ]
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [tsc, '-p', 'src/clients/widget', ...options], { cwd: root, stdio: 'inherit' })
    mkdirSync(join(to, 'writing'))
    for (const name of ['strings.d.ts', 'writing/strings.d.ts'])
      cpSync(join(folder, 'clients/widget', name), join(to, name))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
