import { type MantineSpacing, Stack, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { useLocation } from 'react-router'

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

/**
 * Goes to the section that the URL names, once what stands above it is loaded. A link to the
 * present URL makes a new location as well.
 */
export function useSectionOfHash(isLoaded = true): void {
  const location = useLocation()
  useEffect(() => {
    if (!isLoaded || location.hash === '') return
    const heading = document.getElementById(location.hash.slice(1))
    heading?.focus({ preventScroll: true })
    heading?.scrollIntoView()
  }, [location, isLoaded])
}
