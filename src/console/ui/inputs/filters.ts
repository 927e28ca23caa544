import { useCallback } from 'react'
import { useSearchParams } from 'react-router'

type Change = (now: URLSearchParams) => void

/**
 * The query of the page's URL, and a function that changes it. A change begins with what the
 * address bar has: two changes in a row would lose the first if the second began with what React
 * has shown.
 */
export function useSearch(): [URLSearchParams, (change: Change, options?: { replace: boolean }) => void] {
  const [params, setParams] = useSearchParams()
  const change = useCallback(
    (apply: Change, options?: { replace: boolean }) => {
      const next = new URLSearchParams(window.location.search)
      apply(next)
      setParams(next, options)
    },
    [setParams],
  )
  return [params, change]
}

/** One filter of a page, kept in the URL's query, so that the view can be shared and restored. */
export function useFilter(name: string): [string | null, (value: string | null) => void] {
  const [params, change] = useSearch()
  const set = useCallback(
    (value: string | null) =>
      change(
        (now) => {
          if (value === null || value === '') now.delete(name)
          else now.set(name, value)
        },
        { replace: true },
      ),
    [name, change],
  )
  return [params.get(name), set]
}
