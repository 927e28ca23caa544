import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useLocation } from 'react-router'

import { queryClient } from '../../../api/queries.ts'

const NAME = 'as-left'

// With the answers of queries it is forgotten when another member signs in.
queryClient.setQueryDefaults([NAME], { gcTime: 3_600_000 })

/** A part of a page, and what is kept of it. */
export interface Part<Left> {
  name: string
  left?: Left
}

/**
 * What a part of a page was when the page was left; null, unless the person has come back to it by
 * the browser's history.
 */
export function useAsLeft<Left>({ name }: Part<Left>): Left | null {
  const { key } = useLocation()
  const [left] = useState(() => queryClient.getQueryData<Left>([NAME, name, key]) ?? null)
  return left
}

/** Keeps what `useAsLeft` returns. */
export function useLeave<Left>({ name }: Part<Left>, left: () => Left | null): void {
  const { key } = useLocation()
  const latest = useRef(left)
  useEffect(() => {
    latest.current = left
  })
  useLayoutEffect(() => () => void queryClient.setQueryData([NAME, name, key], latest.current()), [name, key])
}
