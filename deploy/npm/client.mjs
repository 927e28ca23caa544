// Makes the package @engagement-service/client from the files of `npm run build`. Its version is that of the service, and
// so is whether it may be published (`private`). Usage: node deploy/npm/client.mjs [folder, else dist/packages/client]
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = join(import.meta.dirname, '../..')
const made = resolve(process.argv[2] ?? join(root, 'dist/packages/client'))
const fixed = join(import.meta.dirname, 'client')

rmSync(made, { recursive: true, force: true })
mkdirSync(made, { recursive: true })
for (const name of ['backend', 'browser', 'graphql', 'receiver'])
  copyCode(join(root, 'dist/clients', name), join(made, name))
copyCode(join(root, 'dist/widget'), join(made, 'widget'))
cpSync(join(fixed, 'widget.d.ts'), join(made, 'widget/widget.d.ts'))
writeWidgetTypes()
cpSync(join(fixed, 'README.md'), join(made, 'README.md'))
cpSync(join(root, 'schema.graphql'), join(made, 'schema.graphql'))
cpSync(join(root, 'LICENSE'), join(made, 'LICENSE'))

const read = (path) => JSON.parse(readFileSync(path, 'utf8'))
const { version, private: isPrivate } = read(join(root, 'package.json'))
const manifest = { ...read(join(fixed, 'package.json')), version, private: isPrivate }
writeFileSync(join(made, 'package.json'), JSON.stringify(manifest, null, 2))

/** Without source maps, whose sources are not in the package. */
function copyCode(from, to) {
  mkdirSync(to)
  for (const name of readdirSync(from).filter((each) => /\.(js|d\.ts)$/.test(each))) {
    const text = readFileSync(join(from, name), 'utf8')
    writeFileSync(join(to, name), text.replace(/^\/\/# sourceMappingURL=.*\n?/m, ''))
  }
}

/** The types of the widget's texts; those of its elements would need the types of its libraries. */
function writeWidgetTypes() {
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
    mkdirSync(join(made, 'widget/writing'))
    for (const name of ['strings.d.ts', 'writing/strings.d.ts'])
      cpSync(join(folder, 'clients/widget', name), join(made, 'widget', name))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
