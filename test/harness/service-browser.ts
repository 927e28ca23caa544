import type { Browser } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'

import { launchBrowser } from './browser.ts'
import { startService, type TestService } from './service.ts'

interface Shared {
  service: TestService
  browser: Browser
  /** A reader's comment at an article; gives its id. */
  post(article: string, as: string, body: string, parentId?: string): Promise<string>
}

/** The service and a browser, which the tests around share. */
export function useServiceAndBrowser(): Shared {
  const shared = {
    post: async (article, as, body, parentId) => {
      const path = `/discussions/by-external/${article}/comments`
      return (await shared.service.ok('POST', path, { body, parentId }, await shared.service.as(as))).id
    },
  } as Shared
  beforeAll(async () => {
    shared.service = await startService({ worker: false })
    shared.browser = await launchBrowser()
  })
  afterAll(async () => {
    // Missing where they could not be started.
    await (shared as Partial<Shared>).browser?.close()
    await (shared as Partial<Shared>).service?.close()
  })
  return shared
}
