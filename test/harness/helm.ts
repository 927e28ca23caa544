import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { parse, parseAllDocuments, stringify } from 'yaml'

// What the chart uses of Helm's templates, and no more: anything else is an error here. Helm itself
// is on no test machine.

type Value = unknown
interface Scope {
  dot: Value
  variables: Readonly<Record<string, Value>>
}
type Node =
  | { kind: 'text'; text: string }
  | { kind: 'print'; pipeline: string }
  | { kind: 'if'; pipeline: string; body: Node[] }
  | { kind: 'range'; names: [string, string]; pipeline: string; body: Node[] }
  | { kind: 'define'; name: string; body: Node[] }

const ACTION = /\{\{(-)?\s*(.*?)\s*(-)?\}\}/gs

/** Reads a template into a tree. `{{-` and `-}}` take the white space beside them away. */
function readTemplate(source: string): Node[] {
  const root: Node[] = []
  const open: Node[][] = [root]
  let from = 0
  let trims = false
  const text = (raw: string, trimsEnd: boolean): void => {
    const start = trims ? raw.trimStart() : raw
    open.at(-1)?.push({ kind: 'text', text: trimsEnd ? start.trimEnd() : start })
  }
  for (const { 0: all, 1: before, 2: action = '', 3: after, index } of source.matchAll(ACTION)) {
    text(source.slice(from, index), before !== undefined)
    from = index + all.length
    trims = after !== undefined
    const [, keyword = '', rest = ''] = /^(if|range|define|end|else|with|block|template)\b\s*(.*)$/s.exec(action) ?? []
    if (keyword === 'end') {
      open.pop()
      if (open.length === 0) throw new Error('an end too many')
      continue
    }
    const body: Node[] = []
    if (keyword === 'if') open.at(-1)?.push({ kind: 'if', pipeline: rest, body })
    else if (keyword === 'define') open.at(-1)?.push({ kind: 'define', name: JSON.parse(rest) as string, body })
    else if (keyword === 'range') {
      const [, key, value, pipeline] = /^\$(\w+), \$(\w+) := (.*)$/.exec(rest) ?? []
      if (key === undefined || value === undefined || pipeline === undefined) throw new Error(`not understood: ${rest}`)
      open.at(-1)?.push({ kind: 'range', names: [key, value], pipeline, body })
    } else if (keyword === '') {
      open.at(-1)?.push({ kind: 'print', pipeline: action })
      continue
    } else throw new Error(`not understood: ${action}`)
    open.push(body)
  }
  text(source.slice(from), false)
  if (open.length !== 1) throw new Error('an end is missing')
  return root
}

/** A chart, rendered with these values over its own. */
export class Chart {
  readonly values: Record<string, unknown>
  /** Paths below `.Values` that some template has read. */
  readonly used = new Set<string>()
  readonly #folder: string
  readonly #defined = new Map<string, Node[]>()

  constructor(folder: string) {
    this.#folder = folder
    this.values = parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Record<string, unknown>
  }

  /** All objects of the release, by `kind/name`. */
  render(overrides: Record<string, unknown> = {}): Map<string, Record<string, Value>> {
    const templates = join(this.#folder, 'templates')
    const names = readdirSync(templates).toSorted()
    const trees = names.map((name) => readTemplate(readFileSync(join(templates, name), 'utf8')))
    for (const node of trees.flat()) if (node.kind === 'define') this.#defined.set(node.name, node.body)
    const chart = parse(readFileSync(join(this.#folder, 'Chart.yaml'), 'utf8')) as { name: string; appVersion: string }
    const dot = {
      Values: merge(this.values, overrides),
      Chart: { Name: chart.name, AppVersion: chart.appVersion },
      Release: { Name: 'news', Namespace: 'default', Service: 'Helm' },
    }
    const texts = trees.map((tree) => this.#print(tree, { dot, variables: {} }))
    const documents = texts
      .filter((_text, index) => names[index]?.endsWith('.yaml'))
      .flatMap((text) => parseAllDocuments(text, { strict: true, uniqueKeys: true }))
    const objects = new Map<string, Record<string, Value>>()
    for (const document of documents) {
      if ('errors' in document && document.errors[0] !== undefined) throw document.errors[0]
      const object = ('toJS' in document ? document.toJS() : null) as Record<string, Value> | null
      if (object === null) continue
      const key = `${String(object.kind)}/${(object.metadata as { name: string }).name}`
      if (objects.has(key)) throw new Error(`there are two of ${key}`)
      objects.set(key, object)
    }
    return objects
  }

  #print(nodes: readonly Node[], scope: Scope): string {
    return nodes
      .map((node): string => {
        if (node.kind === 'text') return node.text
        if (node.kind === 'define') return ''
        const value = this.#evaluate(node.pipeline, scope)
        if (node.kind === 'print') {
          if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
            throw new Error(`${node.pipeline} cannot be printed`)
          }
          return String(value)
        }
        if (node.kind === 'if') return isTrue(value) ? this.#print(node.body, scope) : ''
        const [key, name] = node.names
        return Object.entries(value as object)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map((entry) =>
            this.#print(node.body, { ...scope, variables: { [key]: entry[0], [name]: entry[1] as Value } }),
          )
          .join('')
      })
      .join('')
  }

  #evaluate(pipeline: string, scope: Scope): Value {
    let piped: Value[] = []
    for (const command of pipeline.split(' | ')) {
      const [head = '', ...words] = command.match(/"[^"]*"|\S+/g) ?? []
      const args = [...words.map((word) => this.#operand(word, scope)), ...piped]
      piped = [/^[a-z]/i.test(head) ? this.#call(head, args, scope) : this.#operand(head, scope)]
    }
    return piped[0]
  }

  #operand(word: string, { dot, variables }: Scope): Value {
    if (word === '.') return dot
    if (/^["\d]/.test(word)) return JSON.parse(word) as Value
    if (word.startsWith('$')) return variables[word.slice(1)]
    if (!word.startsWith('.')) throw new Error(`not understood: ${word}`)
    if (word.startsWith('.Values.')) this.used.add(word.slice('.Values.'.length))
    let value: Value = dot
    for (const key of word.slice(1).split('.')) {
      // Helm prints nothing for what no one has declared.
      if (typeof value !== 'object' || value === null || !(key in value)) throw new Error(`there is no ${word}`)
      value = (value as Record<string, Value>)[key]
    }
    return value
  }

  #call(name: string, args: readonly Value[], scope: Scope): Value {
    const [first, second] = args
    switch (name) {
      case 'include': {
        const body = this.#defined.get(String(first))
        if (body === undefined) throw new Error(`there is no template ${String(first)}`)
        return this.#print(body, { ...scope, dot: second })
      }
      case 'quote':
        return JSON.stringify(String(first))
      case 'toYaml':
        return stringify(first).trimEnd()
      case 'nindent':
        return String(second)
          .split('\n')
          .reduce((text, line) => `${text}\n${line === '' ? '' : ' '.repeat(Number(first)) + line}`, '')
      case 'default':
        return isTrue(second) ? second : first
      case 'add':
        return args.reduce<number>((sum, each) => sum + Number(each), 0)
      case 'not':
        return !isTrue(first)
      default:
        throw new Error(`not understood: ${name}`)
    }
  }
}

/** As Go's templates take it. */
const isTrue = (value: Value): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)

function merge(values: Record<string, unknown>, overrides: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...values }
  for (const [key, value] of Object.entries(overrides)) {
    const before = merged[key]
    const isMap = (each: unknown): each is Record<string, unknown> =>
      typeof each === 'object' && each !== null && !Array.isArray(each)
    merged[key] = isMap(before) && isMap(value) ? merge(before, value) : value
  }
  return merged
}
