import { Button, Center, Stack, Table } from '@mantine/core'
import { Children, type ReactNode } from 'react'

import { RowBoundary } from './row-boundary.tsx'
import { Answered } from './states.tsx'

/** A list of `useList`: its rows, or why there are none, and a button for more. */
export function List<Node>({
  list,
  of,
  empty,
  children,
}: {
  list: {
    nodes: readonly Node[] | undefined
    error: unknown
    refetch: () => unknown
    hasNextPage: boolean
    isFetchingNextPage: boolean
    fetchNextPage: () => unknown
  }
  of: string
  /** For a list that can be empty. */
  empty?: ReactNode
  children: (nodes: readonly Node[]) => ReactNode
}) {
  const { nodes, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = list
  return (
    <Stack>
      <Answered query={{ data: nodes, error, refetch }} of={of}>
        {(known) => (known.length === 0 ? empty : children(known))}
      </Answered>
      {hasNextPage && (
        <Center>
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            More
          </Button>
        </Center>
      )}
    </Stack>
  )
}

/** A table that scrolls sideways on a narrow screen. `label` names it. */
export function DataTable({
  label,
  head,
  children,
  minWidth = 640,
}: {
  label: string
  head: readonly ReactNode[]
  children: ReactNode
  minWidth?: number
}) {
  return (
    <Table.ScrollContainer
      minWidth={minWidth}
      // The scrollbar shows that columns are cut off.
      scrollAreaProps={{ type: 'auto', viewportProps: { tabIndex: 0, 'aria-label': label } }}
    >
      <Table aria-label={label} verticalSpacing="sm" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            {head.map((each, index) => (
              <Table.Th key={index}>{each}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Children.map(children, (row) => (
            <RowBoundary columns={head.length}>{row}</RowBoundary>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
