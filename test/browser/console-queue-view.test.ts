import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'

import { describeInBrowser } from '../harness/browser.ts'
import { changeAnswers, enter, expectAccessible, NARROW, tabTo, WAIT } from '../harness/console.ts'
import { openQueue, type Posted } from '../harness/moderation-queue.ts'

describeInBrowser('The view of a queue in the console', () => {
  const { desk, post, postHeld, stateOf, expectState, item, expectFocus, expectSaid, leaveDiscussion } = openQueue()

  const shown = (page: Page) =>
    page.getByRole('article').evaluateAll((all) => all.map((each) => each.dataset['comment']))
  const expectShown = async (page: Page, ...comments: readonly Posted[]): Promise<void> => {
    await expect.poll(() => shown(page), WAIT).toEqual(comments.map(({ id }) => id))
  }
  const report = async ({ id }: Posted, ...readers: string[]): Promise<void> => {
    for (const reader of readers)
      await desk.ok('POST', `/comments/${id}/report`, { reason: 'spam' }, await desk.service.as(reader))
  }
  /** Chooses of a list by keyboard, after some words where it has a search. */
  const pick = async (page: Page, label: string, option: string, words = ''): Promise<void> => {
    await tabTo(page.getByRole('combobox', { name: label }))
    await page.keyboard.type(words)
    if (words === '') await page.keyboard.press('ArrowDown')
    await page.getByRole('option', { name: option }).first().waitFor()
    await expect
      .poll(async () => {
        await page.keyboard.press('ArrowDown')
        return page.getByRole('option', { name: option }).first().getAttribute('data-combobox-selected')
      }, WAIT)
      .toBe('true')
    await page.keyboard.press('Enter')
  }

  test('the comment that gets the focus is below the bar of the queue, however high the bar is', async () => {
    const posted: Posted[] = []
    for (const n of [1, 2, 3, 4, 5, 6]) posted.push(await post('ann', `hold number ${n}, ${'long '.repeat(40)}`))
    const page = await desk.visit('/moderation')
    await page.setViewportSize({ width: 390, height: 700 })
    await expectShown(page, ...posted)
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    const distance = () =>
      page.evaluate<number>(
        `document.activeElement.getBoundingClientRect().top - document.querySelector('[role=toolbar]').getBoundingClientRect().bottom`,
      )
    for (const key of ['j', 'j', 'j', 'j', 'k', 'k', 'k']) {
      await page.keyboard.press(key)
      await expect.poll(distance, WAIT).toBeGreaterThanOrEqual(0)
    }
    await page.close()
    for (const { id } of posted) await desk.ok('POST', `/comments/${id}/approve`)
  })

  test('on a screen of 320 pixels the names of the queues have room beside them', async () => {
    const page = await desk.visit('/moderation', { view: { width: 320, theme: 'light' } })
    await changeAnswers(page, ({ overview }) => {
      if (overview) Object.assign(overview, { pending: 1000, reported: 1000 })
    })
    await page.reload()
    await page.getByText('1\u00A0000+').nth(1).waitFor()
    const room = await page.getByRole('radiogroup', { name: 'Queue' }).evaluate((queues) =>
      [...queues.querySelectorAll('label')].map((label) => {
        // Its name, without its count.
        const text = document.createRange()
        text.selectNodeContents(label.querySelector('.mantine-Group-root')?.firstChild ?? label)
        const [outer, inner] = [label.getBoundingClientRect(), text.getBoundingClientRect()]
        return Math.min(inner.left - outer.left, outer.right - inner.right)
      }),
    )
    expect(room).toHaveLength(4)
    expect(Math.min(...room)).toBeGreaterThan(3)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.unroute('**/graphql')
  })

  test('filters by reason, reader and page, and by the links of a card; the address has it, and Back works', async () => {
    const ann = await post('ann', 'hold one')
    const links = await post(
      'bob',
      'a https://a.example https://b.example https://c.example https://d.example https://e.example https://f.example',
    )
    leaveDiscussion()
    const elsewhere = await post('ann', 'hold two')
    const page = await desk.visit('/moderation')
    await expectShown(page, ann, links, elsewhere)
    await enter(page.getByRole('button', { name: 'Filter and sort' }))
    await pick(page, 'Reason', 'has many links')
    await page.waitForURL(/reason=too_many_links/)
    await expectShown(page, links)
    await page.goBack()
    await expectShown(page, ann, links, elsewhere)
    await pick(page, 'Reader', 'Name of ann', 'ann')
    await page.waitForURL(new RegExp(`reader=${ann.author.id}`))
    await expectShown(page, ann, elsewhere)
    await enter(item(page, ann).getByRole('link', { name: 'all of this page' }))
    await page.waitForURL(new RegExp(`discussion=${ann.discussionId}`))
    await expectShown(page, ann)
    // Another page has the same title.
    const chosen = page.getByRole('combobox', { name: 'Page' })
    await expect.poll(() => chosen.inputValue(), WAIT).toMatch(/^The bridge \(.+\)$/)
    await page.reload()
    await expectShown(page, ann)
    await enter(page.getByRole('button', { name: 'Clear the filters' }))
    await expectShown(page, ann, links, elsewhere)
    await enter(item(page, links).getByRole('link', { name: 'all of this reader' }))
    await expectShown(page, links)
    await page.getByRole('radio', { name: 'Rejected' }).press('Space')
    await page.getByText('Nothing fits these filters').waitFor()
    await page.goBack()
    await expectShown(page, links)
  })

  test('readers of the same name are told apart by their ids, also where a question names one', async () => {
    const first = await post('anna-1', 'hold mine', undefined, 'Anna')
    const second = await post('anna-2', 'hold hers', undefined, 'Anna')
    const other = await post('bob', 'hold his')
    const page = await desk.visit('/moderation')
    await expectShown(page, first, second, other)
    for (const [comment, name] of [
      [first, 'Anna (anna-1)'],
      [second, 'Anna (anna-2)'],
      [other, 'Name of bob'],
    ] as const) {
      await item(page, comment).getByRole('link', { name, exact: true }).waitFor()
      expect(await item(page, comment).getAttribute('aria-label')).toBe(`Comment of ${name}`)
    }
    await item(page, first).getByRole('button', { name: 'Ban' }).click()
    await page.getByRole('dialog', { name: /Anna \(anna-1\)/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    // Alone in view, she is not mistaken for anybody.
    await item(page, first).getByRole('link', { name: 'all of this reader' }).click()
    await expectShown(page, first)
    await item(page, first).getByRole('link', { name: 'Anna', exact: true }).waitFor()
  })

  test('sorts by time, by reports and by busy pages; what is taken back returns to its place', async () => {
    const texts = ['The old ferry.', 'The new ferry.', 'The last ferry.']
    const [first, second, third] = (await Promise.all(texts.map((text, n) => post(`writer-${n}`, text)))).sort((a, b) =>
      a.id < b.id ? -1 : 1,
    ) as [Posted, Posted, Posted]
    leaveDiscussion()
    const alone = await post('eve', 'The tram is alone.')
    await report(third, 'cyd', 'dan')
    for (const comment of [first, second, alone]) await report(comment, 'cyd')
    const page = await desk.visit('/moderation?status=reported&sort=most_reported')
    await expectShown(page, third, first, second, alone)
    await item(page, third).focus()
    await page.keyboard.press('a')
    await expectFocus(page, first)
    await page.keyboard.press('r')
    await expectShown(page, second, alone)
    await page.keyboard.press('u')
    await expectShown(page, first, second, alone)
    await page.keyboard.press('u')
    await expectShown(page, third, first, second, alone)
    await pick(page, 'Order', 'Newest first')
    await expectShown(page, alone, third, second, first)
    await pick(page, 'Order', 'Busiest pages first')
    await page.waitForURL(/sort=busiest/)
    await expectShown(page, first, second, third, alone)
    const late = await post('fay', 'The tram is late.')
    await report(late, 'cyd')
    await enter(page.getByRole('button', { name: 'Show 1 new' }))
    await item(page, late).waitFor()
    for (const { id } of [first, second, third, alone]) expect(await stateOf(id)).toBe('approved')
  })

  test('in an order by reports, the next pages are loaded ahead, and a colleague’s judgement is marked', async () => {
    const all = await postHeld(30)
    const page = await desk.visit('/moderation?sort=most_reported')
    await item(page, all[24]!).waitFor()
    await desk.ok('POST', `/comments/${all[3]!.id}/reject`)
    await item(page, all[3]!).getByText('Rejected meanwhile').waitFor()
    await item(page, all[0]!).focus()
    for (const [n, comment] of all.entries()) {
      if (n === 3) continue
      await expectFocus(page, comment)
      await page.keyboard.press('a')
    }
    for (const [n, comment] of all.entries()) await expectState(comment, n === 3 ? 'rejected' : 'approved')
  })

  test('what no moderator has looked at is marked as reviewed by a, and rejected by r', async () => {
    const [one, two, three, four] = [
      await post('ann', 'The first ferry.'),
      await post('bob', 'The second ferry.'),
      await post('cyd', 'The third ferry.'),
      await post('dan', 'The fourth ferry.'),
    ]
    const view = `status=unreviewed&discussionId=${one.discussionId}`
    const unreviewed = async () =>
      (await desk.ok('GET', `/moderation/queue?${view}`)).data.map(({ comment }: { comment: Posted }) => comment.id)
    const page = await desk.visit(`/moderation?status=unreviewed&discussion=${one.discussionId}`, { view: NARROW })
    await expectShown(page, four, three, two, one)
    await expectAccessible(page, 'moderation-unreviewed')
    await item(page, four).focus()
    await page.keyboard.press('a')
    await expectSaid(page, 'Reviewed.')
    await expectFocus(page, three)
    await page.keyboard.press('u')
    await expectSaid(page, 'Undone: not reviewed.')
    await expectFocus(page, four)
    await page.keyboard.press('r')
    await expectFocus(page, three)
    await page.keyboard.press('x')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.keyboard.press('Shift+A')
    await expectSaid(page, 'Reviewed: 2 comments.')
    await enter(item(page, one).getByRole('button', { name: 'Mark as reviewed' }))
    await page.getByText('Nothing fits these filters').waitFor()
    await expect.poll(unreviewed, WAIT).toEqual([])
    expect(await stateOf(four.id)).toBe('rejected')
    for (const { id } of [one, two, three]) expect(await stateOf(id)).toBe('approved')
    const { data } = await desk.ok('GET', '/audit-log?action=comment.review')
    expect(data.map(({ targetId }: { targetId: string }) => targetId).sort()).toEqual(
      [one, two, three].map(({ id }) => id).sort(),
    )
    await page.keyboard.press('u')
    await expectSaid(page, 'stays reviewed')
  })

  test('a comment that a colleague has reviewed becomes a line', async () => {
    const [one, two] = [await post('ann', 'The early tram.'), await post('bob', 'The late tram.')]
    const page = await desk.visit(`/moderation?status=unreviewed&discussion=${one.discussionId}`)
    await expectShown(page, two, one)
    await desk.ok('POST', `/comments/${one.id}/review`)
    await post('cyd', 'hold this, so that the desk asks again')
    await item(page, one).getByText('meanwhile').waitFor()
    await expectShown(page, two, one)
  })

  test('an unknown id says so', async () => {
    const page = await desk.visit('/moderation?reader=0198c0de-0000-7000-8000-000000000000&sort=nonsense')
    await page.getByRole('alert').waitFor()
    await expectAccessible(page, 'moderation-filters')
    await enter(page.getByRole('button', { name: 'Clear the filters' }))
    await page.getByText('Nothing is waiting').waitFor()
  })
})
