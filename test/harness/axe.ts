import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe finds wrong as the page stands, by the rules of WCAG 2.2 A and AA and its best practices. */
export async function axeFindings(page: Page, within = ':root'): Promise<string[]> {
  // Past the page's policy, which refuses scripts that are put into it.
  await page.evaluate(axe.source)
  const options = { runOnly: RULES, resultTypes: ['violations'] }
  const run = `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`
  const { violations } = (await page.evaluate(run)) as AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, html, failureSummary }) => `${id}: ${String(target)}: ${html.slice(0, 200)}: ${failureSummary ?? ''}`,
    ),
  )
}
