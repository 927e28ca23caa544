import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { effort } from '../harness/effort.ts'
import { addMember } from '../harness/members.ts'
import { type Json, useService } from '../harness/service.ts'

const service = useService()
let deciders: { id: string | null; headers: Record<string, string> }[]
let author: Record<string, string>
beforeAll(async () => {
  await service.call('PATCH', '/settings', { body: { suspectWords: ['casino'] } })
  const members = [await addMember(service, service, 'moderator'), await addMember(service, service, 'editor')]
  const signedIn = members.map(({ id, headers }) => ({ id, headers: { 'x-api-key': '', ...headers } }))
  deciders = [...signedIn, { id: null, headers: {} }]
  author = await service.as('ada')
})

const COMMENTS = 3
/** Two members and a key. */
const DECIDERS = 3
const STATES = { approve: 'approved', reject: 'rejected', delete: 'deleted' } as const

type Action = keyof typeof STATES

/** What a comment is, and its decisions: one for each time that it awaited one. */
interface Modelled {
  status: 'pending' | (typeof STATES)[Action]
  decided: { by: number; action: Action }[]
}

function decide(comment: Modelled, by: number, action: Action): void {
  const { status, decided } = comment
  if (status === 'deleted' || status === STATES[action]) return
  if (status !== 'pending') decided.pop()
  decided.push({ by, action })
  comment.status = STATES[action]
}

/** The author writes a suspect word again. */
function edit(comment: Modelled): void {
  if (comment.status === 'approved') comment.status = 'pending'
}

const command = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constantFrom<Action>('approve', 'reject'), fc.nat(DECIDERS - 1)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('delete' as const), fc.nat(DECIDERS - 1)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('edit' as const), fc.constant(0)) },
)
const history = fc.array(fc.tuple(fc.nat(COMMENTS - 1), command), { minLength: 1, maxLength: 15 })

/** Each history is in a section of its own. */
async function run(commands: [place: number, [action: Action | 'edit', by: number]][]): Promise<void> {
  const section = newId()
  const url = `https://news.example/${section}/page`
  const { id: page } = (await service.call('POST', '/discussions', { body: { externalId: section, url } })).json
  const body = () => ({ body: `casino ${newId()}` })
  const ids: string[] = []
  while (ids.length < COMMENTS) {
    const { json } = await service.call('POST', `/discussions/${page}/comments`, { headers: author, body: body() })
    ids.push(json.id)
  }
  const model = ids.map((): Modelled => ({ status: 'pending', decided: [] }))
  for (const [place, [action, by]] of commands) {
    const [id, comment, decider] = [ids[place], model[place], deciders[by]]
    if (id === undefined || comment === undefined || decider === undefined) throw new Error('out of range')
    if (action === 'edit') {
      await service.call('PATCH', `/comments/${id}`, { headers: author, body: body() })
      edit(comment)
    } else {
      await service.call('POST', '/comments/bulk', { headers: decider.headers, body: { ids: [id], action } })
      decide(comment, by, action)
    }
  }

  const all = model.flatMap(({ decided }) => decided)
  const count = (by: number, action: Action): number =>
    all.filter((each) => each.by === by && each.action === action).length
  const team = async (by: string): Promise<Json> =>
    (await service.call('GET', `/analytics/team?section=${section}&by=${by}`)).json
  const { deciders: shown } = await team('admin')
  for (const [by, { id }] of deciders.entries()) {
    const found = shown.find((each: Json) => (id === null ? each.kind === 'key' : each.id === id))
    const { approved = 0, rejected = 0, deleted = 0, waits } = found?.decisions ?? {}
    expect([approved, rejected, deleted]).toEqual([count(by, 'approve'), count(by, 'reject'), count(by, 'delete')])
    expect(waits?.count ?? 0).toBe(approved + rejected + deleted)
  }
  const kinds = { admin: [0, 1], key: [2] }
  for (const [kind, of] of Object.entries(kinds)) {
    const sum = (...actions: Action[]): number =>
      of.flatMap((by) => actions.map((action) => count(by, action))).reduce((total, n) => total + n, 0)
    const [right, wrong] = [sum('reject', 'delete'), sum('approve')]
    const { rules } = await team(kind)
    const expected = right + wrong === 0 ? [] : [{ reason: 'suspect_word', right, wrong, waits: expect.anything() }]
    expect(rules).toEqual(expected)
  }
}

test('however decisions follow each other, each wait of a comment counts once, by the last one', async () => {
  const property = fc.asyncProperty(history, run)
  await fc.assert(property, { numRuns: effort(60, 3) })
})
