import { renderToString } from 'vue/server-renderer'
import { createSSRApp } from 'vue'

import type { PageState } from './page.ts'
import { appOf } from './vue.ts'

export const draw = (first: PageState): Promise<string> => renderToString(createSSRApp(appOf(first)))
