// The elements of the widget for Vue: `import { EngagementThread } from 'engagement-vue'`.
import { defineComponent, type DefineSetupFnComponent, h, onBeforeUnmount, onMounted, shallowRef, watch } from 'vue'

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
} from '../elements/elements.ts'

export type * from '../elements/types.ts'

type Emits<Name extends ElementName> = { [Event in keyof EventsOf<Name>]: (event: EventsOf<Name>[Event]) => void }
type Component<Name extends ElementName> = DefineSetupFnComponent<Properties<Name>, Emits<Name>>

function component<Name extends ElementName>(name: Name, componentName: string): Component<Name> {
  const { tag, events } = ELEMENTS[name]
  const made = defineComponent<Given, string[]>(
    (props, { emit, expose, slots }) => {
      const element = shallowRef<EngagementElement>()
      expose({ element, reload: () => element.value?.reload() })
      let stop = (): void => undefined
      onMounted(() => {
        const mounted = element.value as EngagementElement
        stop = listen(name, mounted, (event, of) => emit(event, of))
        const now = { immediate: true }
        watch(
          () => props.strings,
          (strings, before) => (strings ?? before) && tellThread(mounted, (thread) => (thread.strings = strings ?? {})),
          now,
        )
        watch(
          () => props.identity && 'known',
          (reader, before) => {
            if (reader === undefined && !before) return
            const ask = reader ? (isRefused: boolean) => props.identity?.(isRefused) : null
            tellThread(mounted, (thread) => thread.setIdentity(ask))
          },
          now,
        )
        watch(
          () => props.service,
          (service, _before, onCleanup) => onCleanup(loadFor(name, mounted, service)),
          now,
        )
      })
      onBeforeUnmount(() => stop())
      return () => {
        const { attributes, content } = draw(name, props)
        const all = { ...attributes, ref: element }
        if (isServer && content !== undefined) return h(tag, { ...all, innerHTML: content })
        return h(tag, all, content === undefined ? slots['default']?.() : undefined)
      }
    },
    {
      name: componentName,
      props: propertiesOf(name) as (keyof Given)[],
      emits: [...events],
    },
  )
  return made as unknown as Component<Name>
}

/** The comments of a page. */
export const EngagementThread = component('thread', 'EngagementThread')
/** How many comments a page has. Its slot is shown until that is known. */
export const EngagementCount = component('count', 'EngagementCount')
/** The newest comments of all pages. Its slot is shown until there is a list. */
export const EngagementLatest = component('latest', 'EngagementLatest')
/** The pages with the most comments of late. Its slot is shown until there is a list. */
export const EngagementMostDiscussed = component('mostDiscussed', 'EngagementMostDiscussed')
