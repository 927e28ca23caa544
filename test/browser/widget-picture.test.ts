import { join } from 'node:path'

import { expect, test } from 'vitest'

import { createBackend } from '../demo/backend.ts'
import { fillArticles } from '../demo/readers.ts'
import { hasBrowser, PICTURES } from '../harness/browser.ts'
import { startService } from '../harness/service.ts'
import { openNewspaper } from '../harness/widget.ts'

const FILE = join(PICTURES, 'widget.png')

test.skipIf(!hasBrowser || process.env.SCREENSHOTS === undefined)(
  'the picture of the widget in the README (made where SCREENSHOTS is set)',
  async () => {
    const service = await startService({ worker: false })
    const paper = await openNewspaper(service, service.url)
    try {
      const { url, apiKey } = service
      const signer = { tenant: service.tenant.slug, identitySecret: service.identitySecret.secret }
      await fillArticles(createBackend({ url, apiKey, ...signer }))
      const picture = async (width: number, query: string): Promise<string> => {
        const { page, sees } = await paper.read('night-trains', { as: 'bob', width, query })
        await sees('bicycles')
        await page.setViewportSize({ width, height: 1100 })
        await page.locator('engagement-thread').evaluate((element) => element.scrollIntoView({ block: 'start' }))
        return (await page.screenshot({ clip: { x: 0, y: 0, width, height: 760 } })).toString('base64')
      }
      const [desk, phone] = [await picture(760, 'page=light'), await picture(360, 'page=dark')]
      const page = await paper.browser.newPage({ viewport: { width: 1180, height: 800 } })
      await page.setContent(
        `<body style="margin:20px;display:flex;gap:20px;background:#ddd">${[desk, phone]
          .map((bytes) => `<img src="data:image/png;base64,${bytes}" style="border-radius:8px">`)
          .join('')}`,
      )
      const bytes = await page.screenshot({ path: FILE })
      await page.close()
      expect(bytes.length).toBeLessThan(150 * 1024)
    } finally {
      await paper.leave()
      await paper.close()
      await service.close()
    }
  },
)
