// A newspaper's site with the widget, to play with: `npm run demo:site`. It needs no database
// server, no Redis and no network. `-- --keep` leaves the data where they are.
import { createBackend } from './backend.ts'
import { startPublisher } from '../harness/publisher.ts'
import { fillArticles } from './readers.ts'
import { startService } from './service.ts'

console.log('Starting the service and the newspaper …')
const keep = process.argv.includes('--keep')
const service = await startService({ keep, exitCode: 0 })
const site = await startPublisher({ ...service, serviceUrl: service.url })
const backend = createBackend(service)
await backend.patch('/settings', { allowedOrigins: [site.url] })
await fillArticles(backend)

console.log(`
  The newspaper        ${site.url}/
  An article           ${site.url}/articles/night-trains
  The same, dark       ${site.url}/articles/night-trains?page=dark
  In Arabic            ${site.url}/articles/qahwa

  Open an article in two windows, one of them private, and sign in as Ann in one and as Bob in the other.

  The console          ${service.url}/console/   ${service.admin.email}   ${service.admin.password}
  ${keep ? `The data stay in     ${service.dataDir}` : 'Ctrl-C stops it all and removes its data.'}
`)
