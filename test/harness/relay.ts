import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import relay from 'relay-compiler'

import { ROOT } from './markdown.ts'

export interface Compiled {
  folder: string
  artifacts: string[]
  output: string
  code: number | null
  remove(): Promise<void>
}

/** Compiles documents as an application with Relay does, whose schema is ours. */
export async function compileRelay(
  documents: readonly string[],
  language: 'typescript' | 'javascript' = 'typescript',
): Promise<Compiled> {
  const folder = await mkdtemp(join(tmpdir(), 'relay-'))
  const config = { src: './src', schema: './schema.graphql', artifactDirectory: './made', language }
  const extension = language === 'typescript' ? 'ts' : 'js'
  await mkdir(join(folder, 'src'))
  await mkdir(join(folder, 'made'))
  await cp(join(ROOT, 'schema.graphql'), join(folder, 'schema.graphql'))
  await writeFile(join(folder, 'relay.config.json'), JSON.stringify({ ...config, eagerEsModules: true }))
  // Relay wants names that begin with the file's.
  const source = documents.map((document) => `graphql\`${document}\``).join('\n')
  await writeFile(join(folder, `src/Thread.${extension}`), source)
  const compiler = spawn(relay ?? 'relay', ['relay.config.json'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors, code] = await Promise.all([
    text(compiler.stdout),
    text(compiler.stderr),
    new Promise<number | null>((resolve, reject) => compiler.once('error', reject).once('close', resolve)),
  ])
  const artifacts = (await readdir(join(folder, 'made'))).map((name) => name.replace(`.graphql.${extension}`, ''))
  const remove = (): Promise<void> => rm(folder, { recursive: true })
  return { folder, artifacts: artifacts.sort(), output: output + errors, code, remove }
}
