import { type RefObject, useEffect, useRef } from 'react'

/** For an input that has the focus once it is shown. */
export function useFocused<Element extends HTMLElement = HTMLInputElement>(): RefObject<Element | null> {
  const ref = useRef<Element>(null)
  useEffect(() => ref.current?.focus(), [])
  return ref
}
