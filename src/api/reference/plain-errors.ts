// Each program of `npm run generate` imports this first. An error that says what is missing is
// shown by its message alone: its stack leads into the generator, not to what was forgotten.

const BUGS = [TypeError, ReferenceError, RangeError, SyntaxError]

process.on('uncaughtException', (error) => {
  const isBug = BUGS.some((kind) => error instanceof kind)
  // The messages of @graphql-codegen/core have stacks as well.
  console.error(isBug ? error.stack : error.message.replace(/^ {4}at .*\n?/gm, ''))
  process.exit(1)
})
