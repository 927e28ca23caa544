// Each program of `npm run generate` imports this file first. It prints an expected error
// without its stack, which points into the generator and not at what is missing.

const BUGS = [TypeError, ReferenceError, RangeError, SyntaxError]

process.on('uncaughtException', (error) => {
  const isBug = BUGS.some((kind) => error instanceof kind)
  // The messages of @graphql-codegen/core have stacks as well.
  console.error(isBug ? error.stack : error.message.replace(/^ {4}at .*\n?/gm, ''))
  process.exit(1)
})
