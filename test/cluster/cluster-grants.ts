/** What docs/cluster.md tells an operator to grant, beside what docs/operations.md does. */
import { readFileSync } from 'node:fs'

export function clusterGrants(database: string): string[] {
  const grants = ['operations', 'cluster'].flatMap((name) => {
    const page = readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8')
    return [...page.matchAll(/^(GRANT .+) TO sluice;$/gm)].map(([, grant = '']) => grant)
  })
  return grants.map((grant) => grant.replaceAll('sluice.', `${database}.`))
}
