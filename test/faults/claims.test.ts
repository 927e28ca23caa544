import { describe, expect, test } from 'vitest'

import { onServer } from '../harness/database.ts'
import { invitationIn } from '../harness/members.ts'
import { useProcesses } from '../harness/service-processes.ts'

const ADMIN = { email: 'owner@example.com', password: 'a password of their own' }
const skipped = onServer ? '' : ' (skipped: needs DATABASE_URL)'

describe.skipIf(!onServer)(`claims over two processes${skipped}`, () => {
  const service = useProcesses({
    api: 2,
    worker: 0,
    env: { BOOTSTRAP_ADMIN_EMAIL: ADMIN.email, BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  })

  const send = async (url: string, path: string, token: string | null, body: object) => {
    const authorization: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
    const headers = { 'content-type': 'application/json', ...authorization }
    const answer = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status, await answer.clone().text()).toBeLessThan(300)
    return (await answer.json()) as { token: string; id: string; invitation: { url: string }; data: Outcome[] }
  }
  interface Outcome {
    id: string
    held: boolean
    claimedBy: { id: string } | null
  }

  test('no comment is held by two members, whatever the order and the process', async () => {
    const [here = '', there = ''] = service.apis.map(({ url }) => url)
    const { token: owner } = await send(here, '/admin/auth/login', null, ADMIN)
    const members = await Promise.all(
      Array.from({ length: 6 }, async (_each, n) => {
        const invited = await send(here, '/admin/members', owner, { email: `m${n}@example.com`, role: 'moderator' })
        const token = invitationIn(invited)
        const body = { token, name: `M ${n}`, password: 'a password of their own' }
        return { id: invited.id, token: (await send(here, '/admin/auth/accept', null, body)).token }
      }),
    )
    const headers = await service.as('ada')
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const path = '/discussions/by-external/page/comments'
        return (await service.call('POST', path, { headers, body: { body: 'text' } })).json.id as string
      }),
    )
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        members.map(async ({ id, token }, n) => {
          const mine = n % 2 === 0 ? ids : ids.toReversed()
          const { data } = await send(n % 3 === 0 ? here : there, '/moderation/claim', token, { ids: mine })
          return data.flatMap(({ id: commentId, held }) => (held ? [`${commentId} ${id}`] : []))
        }),
      )
      const held = answers.flat()
      expect(new Set(held.map((each) => each.split(' ')[0])).size).toBe(ids.length)
      expect(held).toHaveLength(ids.length)
      for (const { token } of members) {
        const init = { method: 'DELETE', headers: { authorization: `Bearer ${token}` } }
        expect((await fetch(`${there}/api/v1/moderation/claim`, init)).status).toBe(204)
      }
    }
  })
})
