import { Group, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'

import { WRITTEN } from './written.ts'

/** A page: its heading, one sentence about its purpose, and its actions. */
export function PageFrame({
  title,
  about,
  actions,
  children,
}: {
  title: string
  about?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  useDocumentTitle(`${title} · Engagement Service`)
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
