import { Anchor } from '@mantine/core'
import { Link, useSearchParams } from 'react-router'

/** Links to what the list has of a reader, or of a page; none while it shows nothing else. */
export const AllOfReader = (of: { id: string; name: string }) => <AllOf kind="reader" {...of} />

export const AllOfPage = (of: { id: string; name: string }) => <AllOf kind="discussion" {...of} />

const WORDS = { reader: 'all of this reader', discussion: 'all of this page' } as const

function AllOf({ kind, id, name }: { kind: keyof typeof WORDS; id: string; name: string }) {
  const [params] = useSearchParams()
  if (params.get(kind) === id) return null
  const next = new URLSearchParams(params)
  next.set(kind, id)
  return (
    <>
      {' · '}
      <Anchor component={Link} to={`?${next.toString()}`} size="sm" aria-label={`${WORDS[kind]}: ${name}`}>
        {WORDS[kind]}
      </Anchor>
    </>
  )
}
