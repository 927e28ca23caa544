import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, expect } from 'vitest'

import { newId } from '../../src/core/ids.ts'
import { type Desk, openDesk, WAIT } from './console.ts'

export interface Posted {
  id: string
  discussionId: string
  author: { id: string }
}

/** The moderation queue of a desk, which is emptied before each test, and one discussion. */
export function openQueue() {
  const desk: Desk = openDesk()
  let externalId: string
  beforeAll(async () => {
    await desk.ok('PATCH', '/settings', { suspectWords: ['hold'] })
  })
  beforeEach(async () => {
    externalId = newId()
    // What the page of the test before still does may lock a discussion: such a comment is
    // `unavailable`. Another refusal stays: that of an archived discussion.
    const unavailable = async (): Promise<string[]> => {
      const left: string[] = []
      for (const status of ['pending', 'reported']) {
        const { data } = await desk.ok('GET', `/moderation/queue?status=${status}&limit=100`)
        const ids = data.map(({ comment }: { comment: Posted }) => comment.id)
        if (ids.length === 0) continue
        const outcomes = await desk.ok('POST', '/comments/bulk', { ids, action: 'delete' })
        for (const { id, code } of outcomes.data) if (code === 'unavailable') left.push(id)
      }
      return left
    }
    await expect.poll(unavailable, WAIT).toEqual([])
    await desk.ok('POST', '/discussions', { externalId, title: 'The bridge', url: 'https://news.example.com/bridge' })
  })

  const post = async (reader: string, body: string, parentId?: string, name = `Name of ${reader}`): Promise<Posted> => {
    const headers = await desk.service.as(reader, { name })
    const path = `/discussions/by-external/${externalId}/comments`
    return desk.ok('POST', path, { body, parentId: parentId ?? null }, headers)
  }
  const stateOf = async (id: string): Promise<string> => {
    const { status, pinnedAt } = await desk.ok('GET', `/comments/${id}`)
    return pinnedAt === null ? status : `${status}, pinned`
  }
  const said = (page: Page) => page.getByRole('toolbar', { name: 'The queue' }).locator('output').first()
  const focused = (page: Page) =>
    page.evaluate(`document.activeElement?.closest('[data-comment]')?.dataset.comment ?? null`)
  return {
    desk,
    post,
    /** Posts comments that are held, each of another reader. */
    postHeld: async (count: number): Promise<Posted[]> => {
      const all: Posted[] = []
      for (let n = 1; n <= count; n++) all.push(await post(`reader-${n}`, `hold ${n}`))
      return all
    },
    stateOf,
    expectState: async ({ id }: { id: string }, state: string): Promise<void> => {
      await expect.poll(() => stateOf(id), WAIT).toBe(state)
    },
    item: (page: Page, { id }: { id: string }) => page.locator(`[data-comment="${id}"]`),
    focused,
    expectFocus: async (page: Page, { id }: { id: string }): Promise<void> => {
      await expect.poll(() => focused(page), WAIT).toBe(id)
    },
    said,
    expectSaid: async (page: Page, words: string): Promise<void> => {
      await expect.poll(() => said(page).textContent(), WAIT).toContain(words)
    },
    /** Posts go to another discussion from now on. */
    leaveDiscussion: (): void => {
      externalId = newId()
    },
    /** Marks texts: an equal text of the same reader within a day would be held. */
    mark: (): string => externalId.slice(-4),
  }
}
