import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'puppeteer-core'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe finds on the page: the rule, and where. */
export async function violationsOn(page: Page): Promise<string[]> {
  // Not as an element of the page: its policy takes no script but its own.
  await page.evaluate(readFileSync(AXE, 'utf8'))
  const run = { runOnly: RULES, resultTypes: ['violations'] }
  const results = (await page.evaluate(`axe.run(document, ${JSON.stringify(run)})`)) as AxeResults
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ target, failureSummary }) => {
      return `${id} at ${target.join(' ')}: ${failureSummary?.replaceAll('\n', ' ')}`
    }),
  )
}
