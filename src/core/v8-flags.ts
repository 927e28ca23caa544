import { setFlagsFromString } from 'node:v8'

// V8 compiles the functions of a WebAssembly program that run much a second time, to run faster. By
// its own measure a start of PGlite spends half of its CPU on that. A busy service reaches this
// one, too, within seconds.
setFlagsFromString('--wasm-tiering-budget=800000000')
// A function is checked when it is compiled, which is when it is first called: to check all of
// PGlite's at once takes 60 ms of CPU.
setFlagsFromString('--wasm-lazy-validation')
