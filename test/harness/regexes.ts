import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { checkSync } from 'recheck'
import { type ESTree, parseSync, Visitor } from 'rolldown/utils'
import { vi } from 'vitest'

import { countCpu } from './cpu.ts'

const require = createRequire(import.meta.url)
/** It has no types. */
const withoutSets = require('regexpu-core') as (
  pattern: string,
  flags: string,
  options: { unicodeSetsFlag: 'transform' },
) => string

const SRC = join(import.meta.dirname, '../../src')

export interface Regex {
  pattern: string
  flags: string
}

/** The regular expressions of a source, and how many it makes at run time. */
export function regexesIn(file: string, code: string): { literals: Regex[]; made: number } {
  const literals: Regex[] = []
  let made = 0
  const construction = ({ callee }: ESTree.NewExpression | ESTree.CallExpression): void => {
    if (callee.type === 'Identifier' && callee.name === 'RegExp') made++
  }
  const { program, errors } = parseSync(file, code)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  new Visitor({
    Literal: (node) => {
      if ('regex' in node) literals.push(node.regex)
    },
    NewExpression: construction,
    CallExpression: construction,
  }).visit(program)
  return { literals, made }
}

/** The sources of the service, the console, the widget and the clients, by their paths in `src`. */
export const sources = (): Map<string, string> =>
  new Map(
    readdirSync(SRC, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('generated/'))
      .map((file) => [file, readFileSync(join(SRC, file), 'utf8')]),
  )

/** The regular expressions that a module makes when it is loaded, by the place that makes them. */
export async function madeBy(file: string): Promise<Map<string, Regex>> {
  const found = new Map<string, Regex>()
  const note = ({ source, flags }: RegExp): void => {
    const [, ...places] = new Error().stack?.split('\n') ?? []
    const place = places.find((line) => !line.includes('/test/'))
    if (place?.includes(`/src/${file}`) === true) found.set(`${place} ${source}`, { pattern: source, flags })
  }
  const watching = new Proxy(RegExp, {
    construct: (Target, given: [string, string?], newTarget) => {
      const regex: RegExp = Reflect.construct(Target, given, newTarget)
      note(regex)
      return regex
    },
  })
  vi.stubGlobal('RegExp', watching)
  try {
    vi.resetModules()
    await import(join(SRC, file))
  } finally {
    vi.unstubAllGlobals()
  }
  return found
}

/** Classes and escapes, in which `*` and `+` repeat nothing. */
const LITERAL_PARTS = /\\.|\[(?:\\.|[^\]\\])*\]/gs

/** Whether nothing in a pattern repeats without a bound: then it cannot take long. */
const isBounded = (pattern: string): boolean => !/[*+]|\{\d+,\}/.test(pattern.replace(LITERAL_PARTS, ''))

/** A text of some 10 000 characters on which the work grows by the square takes far longer. */
const QUICK_US = 20_000

function isQuick(regex: RegExp, text: string): boolean {
  const runs = [1, 2, 3].map(() => {
    const micros = countCpu()
    text.search(regex)
    return micros()
  })
  return Math.min(...runs) < QUICK_US
}

/**
 * Why a text may make a regular expression take more than linear time; null if none can. The
 * checker does not know the flag `v`, so its sets are written out first.
 */
export function weaknessOf({ pattern, flags }: Regex): string | null {
  if (isBounded(pattern)) return null
  const hasSets = flags.includes('v')
  const plain = hasSets ? withoutSets(pattern, flags, { unicodeSetsFlag: 'transform' }) : pattern
  const result = checkSync(plain, flags.replace('v', 'u'), { timeout: 60_000, randomSeed: 1 })
  if (result.status === 'safe') return null
  if (result.status === 'unknown') return `could not be checked: ${result.error.kind}`
  const { complexity, attack } = result
  // What it has guessed has to show: where the machine is busy, it guesses wrong.
  if (complexity.type === 'polynomial' && complexity.isFuzz && isQuick(new RegExp(pattern, flags), attack.string))
    return null
  return `takes ${complexity.type} time on ${attack.pattern.slice(0, 100)}`
}
