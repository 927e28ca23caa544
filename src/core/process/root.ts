import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder of the package. Sources and bundle are at different depths below it. */
export const ROOT = ((): string => {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) {
    if (folder === dirname(folder)) throw new Error(`no folder above ${import.meta.dirname} has a package.json`)
    folder = dirname(folder)
  }
  return folder
})()
