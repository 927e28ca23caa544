import { useCallback } from 'react'
import { useSearchParams } from 'react-router'

/** One filter of a page, kept in the URL's query, so that the view can be shared and restored. */
export function useFilter(name: string): [string | null, (value: string | null) => void] {
  const [params, setParams] = useSearchParams()
  const set = useCallback(
    (value: string | null) =>
      setParams(
        (before) => {
          const next = new URLSearchParams(before)
          if (value === null || value === '') next.delete(name)
          else next.set(name, value)
          return next
        },
        { replace: true },
      ),
    [name, setParams],
  )
  return [params.get(name), set]
}
