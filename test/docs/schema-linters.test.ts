import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeAll, describe, expect, test } from 'vitest'

import { ROOT } from '../harness/markdown.ts'
import { EXCEPTIONS, type Finding, hasLinters, runEslint, runSchemaLinter } from '../harness/schema-linters.ts'

const skipped = hasLinters ? '' : ' (skipped: npm ci --prefix examples)'

const isAllowed = ({ rule, message }: Finding): boolean =>
  EXCEPTIONS.some(({ rules, about }) => rules.includes(rule) && (about === undefined || about.test(message)))

describe.skipIf(!hasLinters)(`schema.graphql has no finding of${skipped}`, () => {
  let findings: Finding[]
  beforeAll(async () => {
    findings = [...runSchemaLinter(), ...(await runEslint())]
  })

  test('graphql-schema-linter and @graphql-eslint but for the exceptions', () => {
    const said = findings.filter((finding) => !isAllowed(finding))
    expect(said.map(({ rule, message, line }) => `schema.graphql:${line} ${rule}: ${message}`)).toEqual([])
  })

  test.each(EXCEPTIONS)('which are needed: $because', ({ rules, about }) => {
    for (const rule of rules) {
      const some = findings.some((each) => each.rule === rule && (about === undefined || about.test(each.message)))
      expect(some, rule).toBe(true)
    }
  })
})

test('each exception is a sentence of the choices', () => {
  const choices = readFileSync(join(ROOT, 'docs/reference/choices/graphql.md'), 'utf8').replace(/\s+/g, ' ')
  for (const { because } of EXCEPTIONS) expect(choices).toContain(because)
})
