import { type MantineSpacing, Stack, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
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
 * Goes to the section that the URL names, once what stands above it is loaded, and once more where
 * more of it loads later. A link to the present URL makes a new location as well.
 */
export function useSectionOfHash(isLoaded = true): void {
  const location = useLocation()
  const reached = useRef<unknown>(null)
  // A person who has begun to read or to write there stays where they are.
  const left = useRef<unknown>(null)
  useEffect(() => {
    const leave = (): void => {
      left.current = reached.current
    }
    for (const type of SIGNS_OF_USE) addEventListener(type, leave, { passive: true })
    return () => {
      for (const type of SIGNS_OF_USE) removeEventListener(type, leave)
    }
  }, [])
  useEffect(() => {
    if (!isLoaded || location.hash === '' || left.current === location) return
    const heading = document.getElementById(location.hash.slice(1))
    if (heading === null) return
    reached.current = location
    heading.focus({ preventScroll: true })
    heading.scrollIntoView()
  }, [location, isLoaded])
}

const SIGNS_OF_USE = ['keydown', 'pointerdown', 'wheel'] as const
