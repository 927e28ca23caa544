import { Anchor } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Link } from 'react-router'

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

/** The id of the last section whose heading has come near the top; the first one before. */
function useSectionInView(ids: readonly string[]): string | undefined {
  const [here, setHere] = useState(ids[0])
  const all = ids.join(' ')
  useEffect(() => {
    const look = (): void => {
      const hasCome = (id: string): boolean =>
        (document.getElementById(id)?.getBoundingClientRect().top ?? Infinity) < READ_FROM
      setHere(all.split(' ').findLast(hasCome) ?? all.split(' ')[0])
    }
    look()
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [all])
  return here
}
