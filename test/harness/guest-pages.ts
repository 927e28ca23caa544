import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { easeProofs, giveBackLimits, mailsTo } from './guests.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { newPath, openStaticSite, type StaticSite } from './static-site.ts'
import { WAIT, type Window } from './widget.ts'

export const newEmail = (): string => `gia-${newId()}@example.com`

interface GuestPages {
  site: StaticSite
  /** Has written a comment, and said who they are. */
  write(email: string, path?: string, prepare?: (page: Page) => Promise<unknown>): Promise<Window>
  /** The link in the only mail to an address. */
  linkTo(email: string): Promise<string>
}

/** Pages of a site that takes guests, whose mails are kept. */
export function useGuestPages(): GuestPages {
  let mailer: Receiver
  const pages = {
    write: async (email, path = newPath(), prepare) => {
      const window = await pages.site.visit(path, prepare)
      await window.button('Write a comment').click()
      await window.write('My words')
      await window.thread.getByLabel('Name', { exact: true }).fill('Gia Ferro')
      await window.thread.getByLabel('E-mail address').fill(email)
      return window
    },
    linkTo: async (email) => {
      await vi.waitFor(() => expect(mailsTo(mailer, email)).toHaveLength(1), WAIT)
      return String(mailsTo(mailer, email)[0]?.body['url'])
    },
  } as GuestPages
  beforeAll(async () => {
    easeProofs()
    mailer = await startReceiver()
    pages.site = await openStaticSite({ WEBHOOK_CA_FILE: mailer.caFile })
    const { ok, id } = pages.site
    await ok('PATCH', '/settings', { guests: { mailUrl: `${mailer.url}/mails`, hold: 0 } })
    await ok('PATCH', `/sites/${id}`, { guests: 'email' })
    await ok('POST', '/mail-secrets')
  })
  afterEach(async () => {
    giveBackLimits(pages.site.service, pages.site)
    await pages.site.leave()
  })
  afterAll(async () => {
    // Missing where they could not be started.
    await (pages as Partial<GuestPages>).site?.close()
    await mailer?.close()
  })
  return pages
}
