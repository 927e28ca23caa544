import { expect, test } from 'vitest'

import { findSiteByKey } from '../../src/domains/sites/sites.ts'
import { useService } from '../harness/service.ts'
import { addSite, keyOf, ORIGIN, page } from '../harness/sites.ts'
import { holdsWithin } from '../harness/standstill.ts'
import { unnamed } from '../harness/sql.ts'

const service = useService()

test('a deleted site is unknown to every process within 1 s, and its streams end', async () => {
  const site = await addSite(service, service)
  // Caches are kept per app: this one has its own, and only the bus and the database in common.
  const elsewhere = { ...service.app }
  const find = () => findSiteByKey(elsewhere, site.publicKey, () => undefined)
  expect(await find()).toMatchObject({ id: site.id })
  await site.ask('POST', `/comments${page()}`, { token: await site.token(), body: { body: 'x' } })
  const { json: ticket } = await site.ask('POST', `/ticket${page()}`)
  const stream = await fetch(ticket.streamUrl, { headers: { origin: ORIGIN } })
  expect(stream.status).toBe(200)
  let isOver = false
  const ended = stream.text().then(() => (isOver = true))
  await service.call('DELETE', `/sites/${site.id}`, { headers: keyOf(service) })
  await holdsWithin(1000, async () => {
    expect((await site.ask('GET', '/settings')).status).toBe(404)
    expect(await find()).toBe(null)
    expect(isOver).toBe(true)
  })
  await ended
  const again = await fetch(ticket.streamUrl, { headers: { origin: ORIGIN } })
  expect(again.status).toBe(401)
})

test('without the bus, a deleted site is unknown within 5 s', async () => {
  const site = await addSite(service, service)
  expect((await site.ask('GET', '/settings')).status).toBe(200)
  await service.app.db.query(unnamed('DELETE FROM sites WHERE id = $1'), [site.id])
  await holdsWithin(5000, async () => expect((await site.ask('GET', '/settings')).status).toBe(404))
})
