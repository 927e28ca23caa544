// `node --import dist/keep-code.js` saves the compiled code of a program when it ends.
import { keepCode } from './load.ts'

process.on('exit', () => {
  try {
    keepCode()
  } catch (error) {
    console.error(`The compiled code cannot be kept: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
})
