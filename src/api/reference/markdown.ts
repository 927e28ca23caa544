// Lines are wrapped and cells aligned by the formatter.

/** A table of Markdown. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const cell = (text: string): string => text.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')

/** A page: its title, that it is made, and its parts with a line between them. */
export const page = (title: string, source: string, parts: readonly string[]): string =>
  `${[`# ${title}`, `<!-- Made from ${source} by \`npm run generate\`: edit that, not this page. -->`, ...parts].join('\n\n')}\n`

export const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
