import { Table } from '@mantine/core'

import { WRITTEN } from '../../ui/written.ts'

/** The headers of an answer of the API, which has them as an object. */
export const headerRows = (headers: unknown): [name: string, value: string][] =>
  typeof headers === 'object' && headers !== null
    ? Object.entries(headers).map(([name, value]) => [name, String(value)])
    : []

/** A table of headers. */
export function Headers({ label, headers }: { label: string; headers: unknown }) {
  return (
    <Table aria-label={label} layout="fixed" withRowBorders={false} verticalSpacing={2}>
      <Table.Tbody>
        {headerRows(headers).map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th {...WRITTEN} scope="row" fw={400} c="dimmed">
              {name}
            </Table.Th>
            <Table.Td {...WRITTEN}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
