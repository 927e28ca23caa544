// Loads the programs of the bundle with the code that V8 has compiled of them before. A start
// spends a third of its CPU on compiling otherwise (docs/decisions/0017).
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'
import { crc32 } from 'node:zlib'

// V8 takes only code that was compiled with the same flags: they are set before any is loaded.
import './core/v8-flags.ts'
import { ROOT } from './core/root.ts'

/** What Node's types leave out of a module. */
interface Compiling {
  _compile(text: string, file: string): void
}

/** What a chunk is wrapped in: `importEsm` stands for `import()` (`src/build.ts`). */
const PARAMETERS = 'exports, require, module, __filename, __dirname, importEsm'
const CHECKSUM_BYTES = 4
const CHUNKS = join(ROOT, 'dist/chunks')

const require = createRequire(import.meta.url)
/** What has been loaded and had to be compiled. */
const compiled = new Map<string, Script>()

/** Code is for this version of V8 and its flags alone. */
const tag = cachedDataVersionTag().toString(16)

/** Where the compiled code of a chunk is. */
const codeFile = (chunk: string): string => `${join(CHUNKS, chunk)}.${tag}.code`

/** It is there once the code of all programs has been kept. */
export const codeStamp = join(ROOT, `dist/.compiled-${tag}`)

/** Runs a program. */
export const load = (name: string): void => void require(join(CHUNKS, `${name}.cjs`))

const loadOther = require.extensions['.cjs'] ?? require.extensions['.js']
require.extensions['.cjs'] = (module, file) => {
  if (dirname(file) !== CHUNKS) return loadOther?.(module, file)
  const source = readFileSync(file)
  const cachedData = readCode(basename(file), source)
  const script = new Script(`(function (${PARAMETERS}) {${source.toString()}\n})`, {
    filename: file,
    ...(cachedData !== undefined && { cachedData }),
  })
  if (cachedData === undefined || script.cachedDataRejected === true) compiled.set(basename(file), script)
  // Node maps the stacks of files that it compiles itself. So it compiles a line with the name of
  // the map; and by that line `import()` finds what this file would.
  const line = `module.exports = (name) => import(name)\n//# sourceMappingURL=${basename(file)}.map`
  ;(module as unknown as Compiling)._compile(line, file)
  const importEsm: unknown = module.exports
  module.exports = {}
  const run = script.runInThisContext() as (...given: unknown[]) => void
  run(module.exports, createRequire(file), module, file, CHUNKS, importEsm)
}

/** Code that belongs to the source. V8 does not check whether it is damaged. */
function readCode(chunk: string, source: Buffer): Buffer | undefined {
  const path = codeFile(chunk)
  if (!existsSync(path)) return undefined
  const content = readFileSync(path)
  const code = content.subarray(CHECKSUM_BYTES)
  return checksum(source, code).equals(content.subarray(0, CHECKSUM_BYTES)) ? code : undefined
}

/** Keeps the code of what had to be compiled: of all functions that have run. */
export function keepCode(): void {
  for (const [chunk, script] of compiled) {
    const path = codeFile(chunk)
    const code = script.createCachedData()
    writeFileSync(`${path}.part`, Buffer.concat([checksum(readFileSync(join(CHUNKS, chunk)), code), code]))
    renameSync(`${path}.part`, path)
  }
}

function checksum(source: Buffer, code: Buffer): Buffer {
  const bytes = Buffer.alloc(CHECKSUM_BYTES)
  bytes.writeUInt32LE(crc32(code, crc32(source)))
  return bytes
}
