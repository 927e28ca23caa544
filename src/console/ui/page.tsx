import { Group, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'

import { formatCount } from './numbers.ts'
import { WRITTEN } from './written.ts'

/** A page: its heading, one sentence about its purpose, and its actions. */
export function PageFrame({
  title,
  count = 0,
  about,
  actions,
  children,
}: {
  title: string
  /** How many things wait there: the tab's title says it. Counted up to 1 000. */
  count?: number
  about?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  useDocumentTitle(`${count > 0 ? `(${formatCount(count, 1000)}) ` : ''}${title} · Engagement Service`)
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-start">
        <Stack gap={4} maw={640}>
          <Title order={1} size="h2" {...WRITTEN}>
            {title}
          </Title>
          {about !== undefined && (
            <Text c="dimmed" size="sm">
              {about}
            </Text>
          )}
        </Stack>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}
