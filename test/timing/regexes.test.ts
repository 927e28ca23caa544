import { describe, expect, test } from 'vitest'

import { madeBy, type Regex, regexesIn, sources, weaknessOf } from '../harness/regexes.ts'

// The checker also has builds for the JVM and for each system, which are not installed.
process.env.RECHECK_BACKEND = 'pure'

const files = [...sources()].map(([file, code]) => ({ file, ...regexesIn(file, code) }))

/** Examples of those that are made after the module was loaded, of routes or of names. */
const MADE_LATER: Readonly<Record<string, readonly Regex[]>> = {
  'api/http/methods.ts': [{ pattern: '^/a/[^/]+/b/.*$', flags: '' }],
  'clients/widget/writing/mentions.ts': [
    { pattern: String.raw`(?<![\p{L}\p{N}])@(Ann Okafor|Ann|a\.\*b)(?![\p{L}\p{N}])`, flags: 'gu' },
  ],
}

const weakOf = (regexes: Iterable<Regex>): string[] =>
  [...regexes].flatMap((regex) => {
    const weakness = weaknessOf(regex)
    return weakness === null ? [] : [`/${regex.pattern}/${regex.flags} ${weakness}`]
  })

describe('no text makes a regular expression take more than linear time', () => {
  test('in a literal', () => {
    const literals = new Map(files.flatMap((each) => each.literals.map((regex) => [JSON.stringify(regex), regex])))
    expect(literals.size).toBeGreaterThan(150)
    expect(weakOf(literals.values())).toEqual([])
  }, 600_000)

  test.each(files.filter(({ made }) => made > 0))('in one that $file makes', async ({ file, made }) => {
    const regexes = [...(await madeBy(file)).values(), ...(MADE_LATER[file] ?? [])]
    expect(regexes.length, 'add an example to MADE_LATER').toBeGreaterThanOrEqual(made)
    expect(weakOf(regexes)).toEqual([])
  })
})

describe('the check finds', () => {
  test.each([
    ['nested repetitions', String.raw`^<\?xml[^>]*>\s*(?:<!--[^]*?-->\s*)*<disqus\b`, ''],
    ['a trim that begins at every space', String.raw`\s+$`, ''],
    ['a repetition after a set', '^(?:[[a-z]--[x]]+)+$', 'v'],
    ['a repetition behind a class with a bracket', String.raw`[\]*]*x+$`, ''],
  ])('%s', (_, pattern, flags) => {
    expect(weaknessOf({ pattern, flags })).toContain('time on')
  })

  test('every literal and construction of a source', () => {
    const code =
      'const a: RegExp = /x+/g; function f(b: string) { return [RegExp(b), new RegExp(`${b}+`), b.split(/y/)] }'
    const { literals, made } = regexesIn('a.ts', code)
    expect(literals.map(({ pattern }) => pattern)).toEqual(['x+', 'y'])
    expect(made).toBe(2)
  })
})
