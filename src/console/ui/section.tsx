import { type MantineSpacing, Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'

interface Props {
  title: string
  id?: string
  gap?: MantineSpacing
  children: ReactNode
}

/** A part of a page with a heading, which links can target by `id`. */
export function Section({ title, id, gap = 'sm', children }: Props) {
  return (
    <Stack component="section" gap={gap}>
      <Title order={2} size="h4" {...(id !== undefined && { id, tabIndex: -1, style: { scrollMarginTop: 72 } })}>
        {title}
      </Title>
      {children}
    </Stack>
  )
}
