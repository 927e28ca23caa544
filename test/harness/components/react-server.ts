import { createElement, StrictMode } from 'react'
import { renderToString } from 'react-dom/server'

import type { PageState } from './page.ts'
import { App } from './react.ts'

export const draw = (first: PageState): Promise<string> =>
  Promise.resolve(renderToString(createElement(StrictMode, null, createElement(App, { first }))))
