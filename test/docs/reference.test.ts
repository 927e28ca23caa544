import { expect, test } from 'vitest'

import { useService } from '../harness/service.ts'

const service = useService()

test.each(['openapi.json', 'asyncapi.json'])(
  'GET /%s redirects to the document, below any path of a proxy',
  async (name) => {
    const answer = await fetch(`${service.url}/${name}`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([308, `./api/v1/${name}`])
    const followed = await fetch(`${service.url}/${name}`)
    expect([followed.status, typeof (await followed.json())]).toEqual([200, 'object'])
  },
)

interface Documented {
  paths: Record<string, Record<string, { tags: string[]; summary: string }>>
}

test('the pages of REST have each operation once, with its request', async () => {
  const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as Documented
  const pages = new Map<string, string>()
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { tags: [tag = ''] = [], summary }] of Object.entries(methods)) {
      const address = `${service.url}/docs/reference/rest/${tag}.md`
      const page = pages.get(tag) ?? (await (await fetch(address)).text())
      pages.set(tag, page)
      const sections = page.split(/^## /m).filter((section) => section.startsWith(`${summary}\n`))
      expect([path, method, sections.length]).toEqual([path, method, 1])
      expect(sections[0]).toContain(`\`\`\`http\n${method.toUpperCase()} ${path}\n\`\`\``)
      expect(sections[0]).toMatch(/^curl /m)
    }
  }
  expect(pages.size).toBeGreaterThan(15)
})

test('no page of REST weighs more than 500 KB', async () => {
  const index = await (await fetch(`${service.url}/docs/reference/rest/`)).text()
  const links = new Set(
    [...index.matchAll(/<a href="([\w-]+)(?:#[^"]*)?"/g)].map(([, name = '']) => `/docs/reference/rest/${name}`),
  )
  expect(links.size).toBeGreaterThan(15)
  for (const link of ['/docs/reference/rest/', ...links]) {
    const answer = await fetch(service.url + link)
    expect([link, answer.status]).toEqual([link, 200])
    expect((await answer.arrayBuffer()).byteLength, link).toBeLessThan(500_000)
  }
})
