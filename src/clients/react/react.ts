'use client'
// The elements of the widget for React: `import { EngagementThread } from 'engagement-react'`.
import {
  createElement,
  type ForwardedRef,
  forwardRef,
  type ForwardRefExoticComponent,
  type HTMLAttributes,
  type RefAttributes,
  type RefObject,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
} from 'react'

import {
  draw,
  type ElementName,
  ELEMENTS,
  type EngagementElement,
  type EventsOf,
  type Given,
  isServer,
  listen,
  loadFor,
  type Properties,
  propertiesOf,
  tellThread,
  type Thread,
} from '../elements/elements.ts'

export type * from '../elements/types.ts'

type Camel<Text> = Text extends `${infer Head}-${infer Tail}`
  ? `${Capitalize<Head>}${Camel<Tail>}`
  : Capitalize<Text & string>
/** `sign-in` is `onSignIn`. */
type Callbacks<Name extends ElementName> = {
  [Event in keyof EventsOf<Name> as `on${Camel<Event>}`]?: ((event: EventsOf<Name>[Event]) => void) | undefined
}
type Own<Name extends ElementName> = Properties<Name> & Callbacks<Name>
type Props<Name extends ElementName> = Own<Name> &
  Omit<HTMLAttributes<HTMLElement>, keyof Own<Name> | 'dangerouslySetInnerHTML'>
type Component<Name extends ElementName> = ForwardRefExoticComponent<Props<Name> & RefAttributes<EngagementElement>>

export type EngagementThreadProps = Props<'thread'>
export type EngagementCountProps = Props<'count'>
export type EngagementLatestProps = Props<'latest'>
export type EngagementMostDiscussedProps = Props<'mostDiscussed'>

const callbackOf = (event: string): string =>
  `on-${event}`.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** React 18 warns of layout effects on a server. */
const useBrowserEffect = isServer ? useEffect : useLayoutEffect

/** Tells the thread a value that is given, and undefined when it is withdrawn. */
function useThread<Value>(
  element: RefObject<EngagementElement | null>,
  value: Value,
  tell: (thread: Thread, value: Value) => void,
): void {
  const told = useRef<Value>(undefined)
  useBrowserEffect(() => {
    const before = told.current ?? null
    told.current = value
    if (value === undefined && before === null) return
    tellThread(element.current as EngagementElement, (thread) => tell(thread, value))
  }, [value])
}

function component<Name extends ElementName>(name: Name, displayName: string): Component<Name> {
  const { tag, events } = ELEMENTS[name]
  const own = new Set([...propertiesOf(name), ...events.map(callbackOf), 'className'])

  function Element(
    props: Given & Readonly<Record<string, unknown>> & { className?: string },
    ref: ForwardedRef<EngagementElement>,
  ) {
    const { strings, identity, service, className } = props
    const element = useRef<EngagementElement>(null)
    // The callbacks of the last drawing: another one changes nothing of the element.
    const latest = useRef(props)
    useBrowserEffect(() => {
      latest.current = props
    })
    useImperativeHandle(ref, () => element.current as EngagementElement, [])
    useBrowserEffect(
      () =>
        listen(name, element.current as EngagementElement, (event, of) => {
          const callback = latest.current[callbackOf(event)] as ((of: Event) => void) | undefined
          callback?.(of)
        }),
      [],
    )
    useThread(element, JSON.stringify(strings), (thread, texts) => (thread.strings = JSON.parse(texts ?? '{}')))
    useThread(element, identity && 'known', (thread, reader) =>
      thread.setIdentity(reader ? (isRefused) => latest.current.identity?.(isRefused) : null),
    )
    useEffect(() => loadFor(name, element.current as EngagementElement, service), [service])

    const { attributes, content } = draw(name, props)
    // React refuses a style that is a text.
    const { class: classes, style: _, ...others } = attributes
    const isDrawn = content !== undefined
    const rest = Object.entries(props).filter(([key]) => !own.has(key) && !(isDrawn && key === 'children'))
    const given: Record<string, unknown> = { ...Object.fromEntries(rest), ...others }
    const names = Object.keys(given).filter((key) => (given[key] ?? null) !== null)
    const before = useRef(names)
    useBrowserEffect(() => {
      // React 19 sets a property such as `lang` to undefined, which writes "undefined".
      const withdrawn = before.current.filter((key) => !names.includes(key))
      for (const key of withdrawn) element.current?.removeAttribute(key)
      before.current = names
    })
    return createElement(tag, {
      ...given,
      // React 18 has `className` of no custom element.
      class: className ?? classes,
      ref: element,
      // In the browser React finds no content: it is the shadow root.
      ...(isServer && isDrawn && { dangerouslySetInnerHTML: { __html: content } }),
    })
  }
  Element.displayName = displayName
  const made: unknown = forwardRef(Element as never)
  return made as Component<Name>
}

/** The comments of a page. */
export const EngagementThread = component('thread', 'EngagementThread')
/** How many comments a page has. Its children are shown until that is known. */
export const EngagementCount = component('count', 'EngagementCount')
/** The newest comments of all pages. Its children are shown until there is a list. */
export const EngagementLatest = component('latest', 'EngagementLatest')
/** The pages with the most comments of late. Its children are shown until there is a list. */
export const EngagementMostDiscussed = component('mostDiscussed', 'EngagementMostDiscussed')
