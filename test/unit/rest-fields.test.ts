import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import {
  type DocumentNode,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  parse,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { expect, test } from 'vitest'

import { settingsFragments, settingsTable } from '../../src/api/reference/settings.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { ROOT } from '../harness/markdown.ts'

/** The texts of the operations of a folder of src. */
function operationsIn(folder: string): string[] {
  const path = join(ROOT, 'src', folder)
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.graphql'))
  return files.map((name) => readFileSync(join(path, name), 'utf8'))
}

/** The fields that documents select, as `Type.field`. */
function fieldsOf(documents: readonly DocumentNode[]): Set<string> {
  const info = new TypeInfo(schema)
  const fields = new Set<string>()
  for (const document of documents) {
    visit(
      document,
      visitWithTypeInfo(info, { Field: ({ name }) => void fields.add(`${info.getParentType()?.name}.${name.value}`) }),
    )
  }
  return fields
}

/** Of a list REST has a form of its own. */
const isOfList = (type: string): boolean => type === 'PageInfo' || type.endsWith('Connection')

test('REST shows every plain field of its types; otherwise add it to the .graphql of its domain', () => {
  const texts = [...operationsIn('domains'), settingsFragments(settingsTable(schema))]
  const shown = fieldsOf(texts.map((text) => parse(text)))
  const types = new Set([...shown].map((field) => field.replace(/\..*/, '')))
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

test("the console's export of a reader has every field that REST's has", () => {
  const [ofRest, ofConsole] = ['domains', 'console'].map((folder) => {
    const { ReaderExport } = separateOperations(parse(operationsIn(folder).join('\n')))
    return fieldsOf(ReaderExport === undefined ? [] : [ReaderExport])
  })
  expect(ofRest?.size).toBeGreaterThan(40)
  expect([...(ofRest ?? [])].filter((field) => ofConsole?.has(field) !== true)).toEqual([])
})
