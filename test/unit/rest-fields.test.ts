import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import {
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { expect, test } from 'vitest'

import { settingsFragments, settingsTable } from '../../src/api/reference/settings.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { ROOT } from '../harness/markdown.ts'

const DOMAINS = join(ROOT, 'src/domains')

/** Of a list REST has a form of its own. */
const isOfList = (type: string): boolean => type === 'PageInfo' || type.endsWith('ConnectionEdge')

test('REST shows every plain field of its types; otherwise add it to the .graphql of its domain', () => {
  const files = readdirSync(DOMAINS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.graphql'))
  const texts = files.map((name) => readFileSync(join(DOMAINS, name), 'utf8'))
  const shown = new Set<string>()
  const types = new Set<string>()
  const info = new TypeInfo(schema)
  for (const text of [...texts, settingsFragments(settingsTable(schema))]) {
    visit(
      parse(text),
      visitWithTypeInfo(info, {
        Field({ name }) {
          const type = info.getParentType()?.name ?? ''
          types.add(type)
          shown.add(`${type}.${name.value}`)
        },
      }),
    )
  }
  const missing = [...types]
    .filter((name) => !isOfList(name))
    .flatMap((name) => {
      const type = schema.getType(name)
      if (!isObjectType(type) && !isInterfaceType(type)) return []
      const owners = [name, ...type.getInterfaces().map((each) => each.name)]
      return Object.values(type.getFields())
        .filter((field) => field.args.length === 0 && isLeafType(getNamedType(field.type)))
        .filter((field) => !owners.some((owner) => shown.has(`${owner}.${field.name}`)))
        .map((field) => `${name}.${field.name}`)
    })
  expect(types.size).toBeGreaterThan(40)
  expect(missing).toEqual([])
})
