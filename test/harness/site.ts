import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'

import type { Page } from 'playwright-core'

import { freePort } from './ports.ts'

const CLIENT = new URL('../../dist/clients/browser/stream.js', import.meta.url)

/** What the page keeps of its stream; `follow(options)` opens it. */
const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>An article</title>
<link rel="icon" href="data:,">
<script type="module">
  import { openDiscussionStream } from '/client.js'

  const post = async (path) => {
    const response = await fetch(path, { method: 'POST' })
    if (!response.ok) throw new Error(path + ' answered ' + response.status)
    return response.json()
  }
  const events = [], states = [], errors = [], reloads = []
  Object.assign(window, { events, states, errors, reloads })
  window.follow = (options) => {
    window.stream = openDiscussionStream({
      ticket: () => post('/ticket'),
      onEvent: (event) => events.push(event),
      onReload: async (lastEventId) => {
        reloads.push(lastEventId)
        return (await post('/page')).lastEventId
      },
      onState: (state) => states.push(state),
      onError: (error) => errors.push(String(error)),
      ...options,
    })
  }
</script>
`

/**
 * A publisher's site of its own origin: a page, the client as it is shipped, and the backend's
 * answers to the page.
 */
export interface Site {
  url: string
  /** How often the page has asked for each path of the backend. */
  asked: Readonly<Record<'ticket' | 'page', number>>
  close(): Promise<void>
}

export interface Backend {
  ticket(): Promise<unknown>
  page(): Promise<unknown>
}

export async function startSite(backend: Backend): Promise<Site> {
  const asked = { ticket: 0, page: 0 }
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    if (path === '/client.js') {
      response.setHeader('content-type', 'text/javascript')
      response.end(readFileSync(CLIENT))
    } else if (path === '/ticket' || path === '/page') {
      const name = path === '/ticket' ? 'ticket' : 'page'
      asked[name]++
      response.end(JSON.stringify(await backend[name]()))
    } else {
      response.setHeader('content-type', 'text/html')
      response.end(PAGE)
    }
  }
  const server = createServer((request, response) => {
    answer(request.url ?? '/', response).catch(() => response.writeHead(502).end())
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

/** The requests for streams that the page has made so far, by their URLs. */
export function streamRequests(page: Page): string[] {
  const urls: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/stream/')) urls.push(request.url())
  })
  return urls
}
