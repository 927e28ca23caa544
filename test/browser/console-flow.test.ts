import type { CDPSession, Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { WAIT } from '../harness/console.ts'
import { openQueue, type Posted } from '../harness/moderation-queue.ts'

const COUNT = 200

/**
 * How many functions the page has called since the last time. Unlike CPU time, it does not depend
 * on what else the machine does.
 */
async function callsOf(session: CDPSession): Promise<number> {
  const { result } = await session.send('Profiler.takePreciseCoverage')
  const counts = result.flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0))
  return counts.reduce((sum, count) => sum + count, 0)
}

/**
 * Notes for each key whether its comment has left by the next frame, and the milliseconds until
 * then. Runs in the page.
 */
function watchKeys(): void {
  const noted = window as unknown as { late: number; judged: number; took: number[] }
  noted.late = 0
  noted.took = []
  noted.judged = 0
  addEventListener(
    'keydown',
    ({ key, timeStamp }) => {
      const comment = document.activeElement?.closest('[data-comment]')
      if (comment == null || (key !== 'a' && key !== 'r')) return
      requestAnimationFrame(() => {
        noted.judged++
        noted.took.push(performance.now() - timeStamp)
        if (comment.isConnected) noted.late++
      })
    },
    true,
  )
}

describeInBrowser('The flow of moderation in the console', () => {
  const { desk, post, item, expectFocus } = openQueue()

  test('200 comments are judged by keyboard alone: each decision shows in the next frame, and the last ones cost no more', async () => {
    const all: Posted[] = []
    for (let n = 0; n < COUNT; n++) all.push(await post(`author-${n % 20}`, `hold this one, which is comment ${n}`))
    const firstWaiting = async (): Promise<string | undefined> =>
      (await desk.ok('GET', '/moderation/queue?limit=1')).data[0]?.comment.id
    const page = await desk.visit('/moderation')
    await item(page, all[0]!).waitFor()
    await page.evaluate(watchKeys)
    const session = await page.context().newCDPSession(page)
    await session.send('Profiler.enable')
    await session.send('Profiler.startPreciseCoverage', { callCount: true })
    await page.keyboard.press('j')
    await expectFocus(page, all[0]!)
    await callsOf(session)
    /** Those of the first half of the judgements, and of the second, until all are sent. */
    const calls: number[] = []
    for (const [n, comment] of all.entries()) {
      await expectFocus(page, comment)
      await page.keyboard.press(n % 3 === 0 ? 'r' : 'a')
      await page.waitForFunction((id) => document.querySelector(`[data-comment="${id}"]`) === null, comment.id)
      if ((n + 1) % (COUNT / 2) !== 0) continue
      await expect.poll(firstWaiting, WAIT).toBe(all[n + 1]?.id)
      calls.push(await callsOf(session))
    }
    const { took, ...noted } = await page.evaluate<{ took: number[] }>('({ late, judged, took })')
    expect(noted).toEqual({ late: 0, judged: COUNT })
    // The machine delays frames while it does other work: the quickest tenth tells what is ours.
    expect(took.toSorted((a, b) => a - b)[COUNT / 10]).toBeLessThan(100)
    // Work for each comment that was judged before would treble it.
    const [early = NaN, late = NaN] = calls
    expect(late).toBeLessThan(1.3 * early)
    await session.detach()
  })

  /** Where the middle of a button is. */
  const middleOf = async (page: Page, comment: Posted, name: string) => {
    const box = await item(page, comment).getByRole('button', { name, exact: true }).boundingBox()
    if (box === null) throw new Error(`there is no button ${name}`)
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  }
  /** The comment and the key of the button that is there. */
  const buttonAt = (page: Page, { x, y }: { x: number; y: number }) =>
    page.evaluate(
      ([left, top]) => {
        const button = document.elementFromPoint(left, top)?.closest('button')
        const comment = button?.closest<HTMLElement>('[data-comment]')?.dataset['comment']
        return `${comment} ${button?.getAttribute('aria-keyshortcuts')}`
      },
      [x, y] as const,
    )

  test('the buttons of the next comment come under the pointer, whatever the lengths; a double click judges one', async () => {
    const all: Posted[] = []
    const lengths = [5, 1, 4, 3, 1, 1, 5, 2, 1, 7, 1]
    for (const [n, lines] of lengths.entries())
      all.push(await post(`short-${n}`, Array.from({ length: lines }, () => `hold ${n}`).join('\n\n')))
    const page = await desk.visit('/moderation')
    await item(page, all[0]!).getByText('First seen').waitFor()
    await item(page, all.at(-1)!).waitFor()
    for (const [name, key, comments] of [
      ['Approve', 'a', all.slice(0, 4)],
      ['Reject', 'r', all.slice(4, 9)],
    ] as const) {
      const at = await middleOf(page, comments[0]!, name)
      await page.mouse.move(at.x, at.y)
      for (const [n, comment] of comments.entries()) {
        await expect.poll(() => buttonAt(page, at), WAIT).toBe(`${comment.id} ${key}`)
        if (n === 0) await page.mouse.dblclick(at.x, at.y)
        else await page.mouse.click(at.x, at.y)
        await item(page, comment).waitFor({ state: 'detached' })
        const next = all[all.indexOf(comment) + 1]
        if (next !== undefined) await expectFocus(page, next)
      }
    }
    // This one is too long for that: its beginning is in view.
    const bar = await page.getByRole('toolbar', { name: 'The queue' }).boundingBox()
    const long = await item(page, all.at(-2)!).boundingBox()
    expect(long?.y).toBeGreaterThanOrEqual((bar?.y ?? 0) + (bar?.height ?? 0))
  })
})
