// Loads the bundle's programs with code that V8 has compiled before. Otherwise a start spends a
// third of its CPU on compiling (docs/decisions/0017).
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'
import { crc32 } from 'node:zlib'

// V8 accepts only code that was compiled with the same flags, so they are set before any is
// loaded.
import './core/v8-flags.ts'
import { ROOT } from './core/root.ts'

/** Parts of a module that Node's types lack. */
interface Compiling {
  _compile(text: string, file: string): void
}

/**
 * The parameters of the function around a chunk: `importEsm` stands for `import()`
 * (`src/build.ts`).
 */
const PARAMETERS = 'exports, require, module, __filename, __dirname, importEsm'
const CHECKSUM_BYTES = 4
const CHUNKS = join(ROOT, 'dist/chunks')

const require = createRequire(import.meta.url)
/** Loaded scripts that had to be compiled. */
const compiled = new Map<string, Script>()

/** Compiled code is valid only for this version of V8 and its flags. */
const tag = cachedDataVersionTag().toString(16)

/** The file with the compiled code of a chunk. */
const codeFile = (chunk: string): string => `${join(CHUNKS, chunk)}.${tag}.code`

/** Exists once the code of all programs has been saved. */
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
  // Node maps stack traces only of files that it compiles itself. So it compiles a line with the
  // name of the map, in which `import()` also resolves as in this file.
  const line = `module.exports = (name) => import(name)\n//# sourceMappingURL=${basename(file)}.map`
  ;(module as unknown as Compiling)._compile(line, file)
  const importEsm: unknown = module.exports
  module.exports = {}
  const run = script.runInThisContext() as (...given: unknown[]) => void
  run(module.exports, createRequire(file), module, file, CHUNKS, importEsm)
}

/** The compiled code for this source. V8 does not check it for damage. */
function readCode(chunk: string, source: Buffer): Buffer | undefined {
  const path = codeFile(chunk)
  if (!existsSync(path)) return undefined
  const content = readFileSync(path)
  const code = content.subarray(CHECKSUM_BYTES)
  return checksum(source, code).equals(content.subarray(0, CHECKSUM_BYTES)) ? code : undefined
}

/** Saves the code of scripts that had to be compiled: of all functions that have run. */
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
