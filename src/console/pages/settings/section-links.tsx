import { Anchor } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'react-router'

/** Where a section begins to be the one that is read, in pixels below the top of the window. */
const READ_FROM = 160

/** Links to the sections of a long page, which stay in view: beside it, or on a phone above it. */
export function SectionLinks({ sections }: { sections: readonly { id: string; title: string }[] }) {
  const nav = useRef<HTMLElement>(null)
  const here = useSectionInView(sections.map(({ id }) => id))
  useEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>('[aria-current]')
    if (link != null) nav.current?.scrollTo({ left: link.offsetLeft - nav.current.offsetLeft - 16 })
  }, [here])
  return (
    <nav ref={nav} aria-label="Sections">
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
