// A page with the components for React.
import { createElement, StrictMode, useState } from 'react'
import { createRoot, hydrateRoot } from 'react-dom/client'

import * as components from '../../../src/clients/react/react.ts'
import { hear, page, type PageState } from './page.ts'

export function App({ first }: { first: PageState }) {
  const [state, set] = useState(first)
  page.show = (change) => set((before) => ({ ...before, ...change }))
  const { thread, draws, isShown, token, list } = state
  const on = (name: string) => (event: Event) => hear(name, draws, event)
  return createElement(
    'main',
    null,
    createElement('p', { id: 'draws' }, draws),
    list && createElement<object>(components[list.name], list.props, 'Written by the server'),
    isShown &&
      createElement(components.EngagementThread, {
        ...thread,
        // Other functions with each drawing, as most pages have them.
        ...(token !== undefined && { identity: token === null ? null : () => token }),
        onReady: on('ready'),
        onPosted: on('posted'),
        onReply: on('reply'),
        onSignIn: on('sign-in'),
        onError: on('error'),
      }),
    createElement('footer', null, 'The end'),
  )
}

export function start(root: HTMLElement, isServed: boolean): void {
  const app = createElement(StrictMode, null, createElement(App, { first: page.state }))
  if (isServed) hydrateRoot(root, app)
  else createRoot(root).render(app)
}
