import { setFlagsFromString } from 'node:v8'

// V8 recompiles hot WebAssembly functions to run faster; by its own measure that takes half the
// CPU of a start of PGlite. This budget delays it; a busy service still reaches it within seconds.
setFlagsFromString('--wasm-tiering-budget=800000000')
// A function is checked when it is compiled, which is when it is first called: to check all of
// PGlite's at once takes 60 ms of CPU.
setFlagsFromString('--wasm-lazy-validation')
