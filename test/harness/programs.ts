import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * Where a program is, by its names or paths in the order of preference; undefined where none of
 * them is here.
 */
export function findProgram(...names: readonly (string | undefined)[]): string | undefined {
  // Servers are where only root looks.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  const paths = names.flatMap((name) => {
    if (name === undefined || name === '') return []
    return name.includes('/') ? [name] : folders.map((folder) => join(folder, name))
  })
  return paths.find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
