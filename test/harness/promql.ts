import { parser } from '@prometheus-io/lezer-promql'

export interface PromQL {
  /** The names of all metrics. */
  metrics: string[]
  /** Labels that it selects or groups by, with the metric that it selects from. */
  selects: { metric: string; label: string; value: string | null }[]
  groupsBy: string[]
}

type Node = ReturnType<typeof parser.parse>['topNode']

/**
 * What a PromQL expression names, by Prometheus' own grammar. Grafana's variables stand for a
 * duration. Throws where the expression is wrong.
 */
export function readPromQL(expression: string): PromQL {
  const text = expression.replaceAll('$__rate_interval', '5m')
  const found: PromQL = { metrics: [], selects: [], groupsBy: [] }
  const textOf = ({ from, to }: Node): string => text.slice(from, to)
  parser.parse(text).iterate({
    enter: ({ node, type }) => {
      if (type.isError) throw new Error(`no PromQL at ${node.from}: ${text}`)
      if (type.name === 'GroupingLabels') found.groupsBy.push(...node.getChildren('LabelName').map(textOf))
      if (type.name !== 'VectorSelector') return
      const name = node.getChild('Identifier')
      if (name === null) throw new Error(`a selector without a name: ${text}`)
      const metric = textOf(name)
      found.metrics.push(metric)
      for (const matcher of node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []) {
        const [label, literal] = [matcher.getChild('LabelName'), matcher.getChild('StringLiteral')]
        if (label === null || literal === null) throw new Error(`a matcher that is not understood: ${text}`)
        const isEqual = matcher.getChild('MatchOp')?.getChild('EqlSingle') ?? matcher.getChild('EqlSingle')
        const value = isEqual === null ? null : textOf(literal).slice(1, -1)
        found.selects.push({ metric, label: textOf(label), value })
      }
    },
  })
  return found
}
