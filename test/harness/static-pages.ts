import { createServer } from 'node:http'

import { open, shut } from './backends.ts'

/** Pages of an origin of their own without a backend, as a static host serves them. */
export interface StaticPages {
  origin: string
  close(): Promise<void>
}

/** Nothing but what the guide says that a page's policy has to allow. */
const policyFor = (serviceUrl: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${serviceUrl}`,
    `connect-src ${serviceUrl}`,
    "img-src 'self' https:",
    "require-trusted-types-for 'script'",
    'trusted-types lit-html engagement',
  ].join('; ')

/**
 * Every path is a page with the lines of the guide. `window.identity` of a test is its function
 * for tokens. `?canonical=` is the address that the page calls its own, `?site=` another key. With
 * `?lists` there is a list of the latest comments; with `?lazy` the thread is lazy, and far below.
 */
export async function startStaticPages(serviceUrl: string, publicKey: () => string): Promise<StaticPages> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://page')
    const send = (type: string, text: string): void => {
      response.setHeader('content-type', `${type}; charset=utf-8`)
      response.setHeader('content-security-policy', policyFor(serviceUrl))
      response.end(text)
    }
    if (pathname === '/icon.svg') return send('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>')
    if (pathname === '/site.js') return send('text/javascript', scriptFor(serviceUrl))
    const site = searchParams.get('site') ?? publicKey()
    const canonical = searchParams.get('canonical')
    const lists = `<script type="module" src="${serviceUrl}/lists.js"></script><engagement-latest site="${site}"></engagement-latest>`
    send(
      'text/html',
      `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A page at ${pathname.slice(1)}</title>
<link rel="icon" href="/icon.svg">
${canonical === null ? '' : `<link rel="canonical" href="${canonical}">`}
<script type="module" src="${serviceUrl}/widget.js"></script>
<script type="module" src="/site.js"></script>
<p>Comments: <engagement-count site="${site}" format="number">?</engagement-count></p>
${searchParams.has('lazy') ? '<br>'.repeat(500) : ''}
<engagement-thread site="${site}" ${searchParams.has('lazy') ? 'loading="lazy"' : ''}></engagement-thread>
${searchParams.has('lists') ? lists : ''}`,
    )
  })
  return { origin: await open(server), close: () => shut(server) }
}

const scriptFor = (serviceUrl: string): string => `import '${serviceUrl}/widget.js'

// The policy allows no other style.
const style = new CSSStyleSheet()
style.replaceSync(':root { color-scheme: light dark; background: Canvas; color: CanvasText }')
document.adoptedStyleSheets = [style]
const violations = (window.violations = [])
addEventListener('securitypolicyviolation', ({ violatedDirective }) => violations.push(violatedDirective))
const thread = document.querySelector('engagement-thread')
if (window.identity) thread.setIdentity((isRefused) => window.identity(isRefused))
`
