// A page with the components for Vue.
import { type App, createApp, createSSRApp, defineComponent, h, ref } from 'vue'

import * as components from '../../../src/clients/vue/vue.ts'
import { hear, page, type PageState } from './page.ts'

export const appOf = (first: PageState) =>
  defineComponent(() => {
    const state = ref(first)
    page.show = (change) => (state.value = { ...state.value, ...change })
    return () => {
      const { thread, draws, isShown, token, list } = state.value
      const on = (name: string) => (event: Event) => hear(name, draws, event)
      return h('main', [
        h('p', { id: 'draws' }, draws),
        list && h(components[list.name] as never, list.props, () => 'Written by the server'),
        isShown &&
          h(components.EngagementThread, {
            ...thread,
            ...(token !== undefined && { identity: token === null ? null : () => token }),
            onReady: on('ready'),
            onPosted: on('posted'),
            onReply: on('reply'),
            'onSign-in': on('sign-in'),
            onError: on('error'),
          }),
        h('footer', 'The end'),
      ])
    }
  })

export function start(root: HTMLElement, isServed: boolean): void {
  const make: (component: object) => App = isServed ? createSSRApp : createApp
  make(appOf(page.state)).mount(root)
}
