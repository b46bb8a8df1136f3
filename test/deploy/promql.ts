/** What an expression of PromQL asks for, by Prometheus' own grammar. */
import { parser } from '@prometheus-io/lezer-promql'

export interface Selector {
  readonly metric: string
  /** Labels that it compares, with what: a literal, or a pattern's text. */
  readonly matchers: readonly (readonly [label: string, value: string])[]
}

export interface Asked {
  readonly selectors: readonly Selector[]
  /** Labels of `by (…)`. */
  readonly grouped: readonly string[]
}

/** Throws where the expression does not parse. */
export function parsePromql(expression: string): Asked {
  // Grafana puts in a duration.
  const text = expression.replaceAll('$__rate_interval', '5m')
  const tree = parser.parse(text)
  const selectors: { metric: string; matchers: [string, string][] }[] = []
  const grouped: string[] = []
  let label = ''
  tree.iterate({
    enter: ({ type, name, from, to, node }) => {
      const said = text.slice(from, to)
      if (type.isError) throw new Error(`${expression}: does not parse at ${from}`)
      const parent = node.parent?.name
      if (name === 'VectorSelector') selectors.push({ metric: '', matchers: [] })
      if (name === 'Identifier' && parent === 'VectorSelector') selectors.at(-1)!.metric = said
      if (name === 'LabelName' && parent === 'GroupingLabels') grouped.push(said)
      if (name === 'LabelName' && parent === 'UnquotedLabelMatcher') label = said
      if (name === 'StringLiteral' && parent === 'UnquotedLabelMatcher') {
        selectors.at(-1)!.matchers.push([label, said.slice(1, -1)])
      }
    },
  })
  if (selectors.length === 0) throw new Error(`${expression}: asks for no metric`)
  return { selectors, grouped }
}
