import { afterAll, beforeAll } from 'vitest'

import { type OpenApp, withDatabase } from '../../src/app.ts'
import type { TestService } from './service.ts'

/** Another process on the database of a file's service: messages of neither reach the other. */
export function useMute(service: TestService): Pick<OpenApp, 'app'> {
  const mute = {} as OpenApp
  beforeAll(() => {
    const { settings, log } = service.app
    const apart = { ...settings, REDIS_PREFIX: `${settings.REDIS_PREFIX}mute:` }
    // The service closes the database.
    const database = { ...service.database, close: () => Promise.resolve() }
    Object.assign(mute, withDatabase(apart, log, database))
  })
  afterAll(() => mute.close())
  return mute
}
