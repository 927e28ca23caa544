import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** The rules that look at colours. */
export const COLORS = ['color-contrast', 'link-in-text-block']

/**
 * What is wrong with the page as it stands: what axe finds by the rules of WCAG 2.2 A and AA and
 * its best practices (or by those of `rules`, and not by those of `but`), and badges whose words
 * are cut off.
 */
export async function axeFindings(
  page: Page,
  within = ':root',
  rules = RULES,
  but: readonly string[] = [],
): Promise<string[]> {
  // Past the page's policy, which refuses scripts that are put into it.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axe.source)
  const off = Object.fromEntries(but.map((rule) => [rule, { enabled: false }]))
  const options = { runOnly: rules, rules: off, resultTypes: ['violations'] }
  const run = `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`
  const { violations } = (await page.evaluate(run)) as AxeResults
  const broken = violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, html, failureSummary }) => `${id}: ${String(target)}: ${html.slice(0, 200)}: ${failureSummary ?? ''}`,
    ),
  )
  return [...broken, ...(await page.evaluate(cutBadges))]
}

/**
 * The badges that are wider than what they stand in, or whose words are wider than they are. Runs
 * in the page.
 */
function cutBadges(): string[] {
  const isCut = (badge: Element): boolean => {
    const { left, right, width } = badge.getBoundingClientRect()
    const around = badge.parentElement?.getBoundingClientRect()
    if (around === undefined || width === 0) return false
    return badge.scrollWidth > badge.clientWidth + 1 || left < around.left - 1 || right > around.right + 1
  }
  return [...document.querySelectorAll('.mantine-Badge-root')]
    .filter(isCut)
    .map(({ textContent }) => `a badge is cut off: ${textContent}`)
}
