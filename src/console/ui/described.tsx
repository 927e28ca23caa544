import { Code } from '@mantine/core'

/** A description of the schema: what stands between backticks is code. */
export function Described({ text }: { text: string }) {
  return text.split('`').map((part, n) => (n % 2 === 0 ? part : <Code key={n}>{part}</Code>))
}
