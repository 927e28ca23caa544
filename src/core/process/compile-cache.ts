// Each program imports this before its own code. On Node 22.1 and newer it keeps the code that V8
// compiles, so that a later start need not compile it again (docs/decisions/0017). Node writes it
// when a process ends; where it cannot write, it compiles.
import module from 'node:module'
import { join } from 'node:path'

import { ROOT } from './root.ts'
// V8 takes only code that was compiled with the same flags.
import './v8-flags.ts'

/** The types are those of Node 20. */
const node: typeof module & { enableCompileCache?: (folder: string) => unknown } = module

// Beside the code: who can write there can change the code as well. Node's default is a folder of
// all users.
node.enableCompileCache?.(join(ROOT, 'dist/.compile-cache'))
