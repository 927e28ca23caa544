/** The path of the compiler's program; null on a machine that it was not built for. */
declare module 'relay-compiler' {
  const program: string | null
  export default program
}
