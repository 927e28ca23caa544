// The formatter wraps lines and aligns cells.

/** A Markdown table. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const cell = (text: string): string =>
  text
    .split(/\n/)
    .map((line) => line.trim())
    .join(' ')
    .replaceAll('|', '\\|')

/** A page: its title, a note that it is generated, and its parts, separated by blank lines. */
export const page = (title: string, source: string, parts: readonly string[]): string =>
  `${[`# ${title}`, `<!-- Made from ${source} by \`npm run generate\`: edit that, not this page. -->`, ...parts].join('\n\n')}\n`

export const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
