// `node --import dist/keep-code.js` keeps the compiled code of a program at its end.
import { keepCode } from './load.ts'

process.on('exit', keepCode)
