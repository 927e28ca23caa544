import { Table } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorBoundary } from 'react-error-boundary'

/** One row of a table: if it fails, its place says so, and the other rows stay. */
export const RowBoundary = ({ columns, children }: { columns: number; children: ReactNode }) => (
  <ErrorBoundary
    fallback={
      <Table.Tr>
        <Table.Td colSpan={columns}>This entry cannot be shown. The browser’s console has the details.</Table.Td>
      </Table.Tr>
    }
    // The next answer may have an entry that can be shown.
    resetKeys={[children]}
  >
    {children}
  </ErrorBoundary>
)
