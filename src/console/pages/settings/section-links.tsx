import { Anchor } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Link, useLocation } from 'react-router'

/** Where a section begins to be the one that is read, in pixels below the top of the window. */
const READ_FROM = 160

/** Links to the sections of a long page, with the one that is read marked. */
export function SectionLinks({ sections }: { sections: readonly { id: string; title: string }[] }) {
  const here = useSectionInView(sections.map(({ id }) => id))
  return (
    <nav aria-label="Sections">
      {sections.map(({ id, title }) => (
        <Anchor
          key={id}
          component={Link}
          to={{ hash: id }}
          size="sm"
          {...(id === here && { 'aria-current': 'location', fw: 600 })}
        >
          {title}
        </Anchor>
      ))}
    </nav>
  )
}

/**
 * The id of the last section whose heading has come near the top; the first one before. At the end
 * of the page no further heading comes there: it is the section of the URL, or the last in view.
 */
function useSectionInView(ids: readonly string[]): string | undefined {
  const { hash } = useLocation()
  const [here, setHere] = useState(ids[0])
  const all = ids.join(' ')
  useEffect(() => {
    const look = (): void => {
      const tops = new Map(
        all.split(' ').map((id) => [id, document.getElementById(id)?.getBoundingClientRect().top ?? Infinity]),
      )
      const lastAbove = (line: number) => [...tops.keys()].findLast((id) => (tops.get(id) ?? Infinity) < line)
      const { scrollHeight } = document.documentElement
      const isAtEnd = scrollY > 0 && scrollY + innerHeight > scrollHeight - 2
      const named = hash.slice(1)
      const top = tops.get(named) ?? Infinity
      setHere(
        !isAtEnd
          ? (lastAbove(READ_FROM) ?? all.split(' ')[0])
          : top >= 0 && top < innerHeight
            ? named
            : lastAbove(innerHeight),
      )
    }
    look()
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [all, hash])
  return here
}
