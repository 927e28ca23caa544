import { type MantineSpacing, Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'

/** A part of a page, below its heading. */
export function Section({ title, gap = 'sm', children }: { title: string; gap?: MantineSpacing; children: ReactNode }) {
  return (
    <Stack component="section" gap={gap}>
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  )
}
