// schema → schema.graphql and rest.graphql (committed: the contract in a diff) and typed documents
// of the console. The table of the settings, from which the console makes its form, has the form of
// `SettingsTable`. The console's filter of the audit log comes from the list of actions, its choice
// of events from their table. `--check` writes neither of the first two, and fails where they are
// not the code's; the documents, which git ignores, it writes.
import './src/api/reference/plain-errors.ts'

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { codegen } from '@graphql-codegen/core'
import * as typedDocumentNode from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import {
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  lexicographicSortSchema,
  parse,
  print,
  printSchema,
  stripIgnoredCharacters,
  type TypeNode,
  visit,
} from 'graphql'
import { z } from 'zod'

import { schema } from './src/api/execution/schema.ts'
import { settingsTable } from './src/api/reference/pages/settings.ts'
import { writeFormatted, writeOrCheck } from './src/api/reference/write.ts'
import { REST_DOCUMENTS, ROUTES } from './src/api/rest/routes.ts'
import { AUDIT_ACTIONS } from './src/core/audit.ts'
import { EVENTS } from './src/core/events.ts'
import { item } from './src/transfer/item.ts'
import { describeStatements } from './src/build/statements.ts'

const root = import.meta.dirname
// What the console runs with. The types of the rows need a database.
const isForBuild = process.argv.includes('--documents')
const schemaFile = join(root, 'schema.graphql')
const text = `${printSchema(lexicographicSortSchema(schema))}\n`
// The console throws the first error of an answer, and a root field is null only beside one.
const withoutRefusals = visit(parse(text), {
  ObjectTypeDefinition({ name, fields = [], ...type }) {
    if (name.value !== 'Query' && name.value !== 'Mutation') return undefined
    return { ...type, name, fields: fields.map((field) => ({ ...field, type: nonNull(field.type) })) }
  },
})
const settings = settingsTable(schema)

if (!isForBuild) {
  writeOrCheck(schemaFile, text)
  writeOrCheck(join(root, 'rest.graphql'), restFields())
  await writeTransferSchema('docs/reference/transfer.schema.json')
  await writeClientDocuments('src/clients/graphql')
}
await writeConsoleDocuments()
writeFileSync(join(root, 'src/generated/settings.json'), JSON.stringify(settings, null, 2))
writeFileSync(join(root, 'src/generated/audit-actions.json'), JSON.stringify(AUDIT_ACTIONS, null, 2))
writeFileSync(join(root, 'src/generated/event-labels.json'), JSON.stringify(eventLabels(), null, 2))
if (!isForBuild) writeFileSync(join(root, 'src/generated/statements.ts'), await describeStatements())

/** What the console calls the events of webhooks, by type. */
function eventLabels(): Record<string, string> {
  const labelled = Object.entries(EVENTS).flatMap(([type, row]) => (row.webhook ? [[type, row.label] as const] : []))
  return Object.fromEntries(labelled)
}

/** What REST shows of each type, in the order of its keys, so that a diff shows what changes. */
function restFields(): string {
  const definitions = ROUTES.flatMap(({ document }) => document.definitions)
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  const lines = new Set(fragments.map((fragment) => print(fragment).replaceAll(/\s+/g, ' ')))
  return `# What REST shows of each type, in this order. \`npm run generate\` writes this.\n${[...lines].sort().join('\n')}\n`
}

/** The JSON Schema of an item of the JSON Lines form (docs/guides/moving.md). */
async function writeTransferSchema(name: string): Promise<void> {
  const title = 'A line of the JSON Lines form'
  const content = JSON.stringify({ title, ...z.toJSONSchema(item, { io: 'input' }) })
  await writeFormatted(join(root, name), content)
}

function nonNull(type: TypeNode): TypeNode {
  return type.kind === Kind.NON_NULL_TYPE ? type : { kind: Kind.NON_NULL_TYPE, type }
}

/** The console's documents, with the fragments of REST that they use. */
async function writeConsoleDocuments(): Promise<void> {
  const own = documentsIn('src/console')
  const fragments = REST_DOCUMENTS.fragmentsFor(own.map(({ document }) => print(document)).join('\n'))
  const documents = [...own, { location: 'REST', document: { kind: Kind.DOCUMENT as const, definitions: fragments } }]
  // A browser sends their text: it needs neither the tree nor what prints it, nor the indentation.
  const how = { documentMode: 'string' }
  const indented = await generate(withoutRefusals, documents, { operations, typedDocumentNode }, how)
  const output = indented.replaceAll(/(?<=new TypedDocumentString\(`)[^`]+/g, (document) =>
    stripIgnoredCharacters(document),
  )
  mkdirSync(join(root, 'src/generated'), { recursive: true })
  writeFileSync(join(root, 'src/generated/console.ts'), output)
}

/** The documents of the clients' package. A client prints them, so they come as their texts. */
async function writeClientDocuments(folder: string): Promise<void> {
  const documents = documentsIn(folder)
  const types = await generate(parse(text), documents, { operations }, { inlineFragmentTypes: 'combine' })
  const definitions = documents.flatMap(({ document }) => document.definitions)
  const fragments = definitions
    .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
    .map((fragment) => `const ${textNameOf(fragment)} = \`${print(fragment)}\``)
  const consts = [...fragments, ...definitions.map((definition) => clientDocument(definition, definitions))]
  const head = `// \`npm run generate\` writes this from page.graphql.
import { type DocumentNode, parse } from 'graphql'

/** A document with the types of its result and variables, as Apollo Client and urql know it. */
export interface TypedDocumentNode<Result, Variables> extends DocumentNode {
  __apiType?: (variables: Variables) => Result
}

const documentOf = <Result, Variables>(...texts: string[]): TypedDocumentNode<Result, Variables> =>
  parse(texts.join('\\n'))
`
  await writeFormatted(join(root, folder, 'documents.ts'), [head, ...consts, types].join('\n'))
}

/** A constant with an operation, or a fragment, and the fragments that it uses. */
function clientDocument(definition: DefinitionNode, all: readonly DefinitionNode[]): string {
  const used = new Set<DefinitionNode>()
  const use = (each: DefinitionNode): void => {
    if (used.has(each)) return
    used.add(each)
    visit(each, {
      FragmentSpread({ name }) {
        const found = all.find((other) => other.kind === Kind.FRAGMENT_DEFINITION && other.name.value === name.value)
        if (found !== undefined) use(found)
      },
    })
  }
  use(definition)
  const texts = [...used].map((each) =>
    each.kind === Kind.FRAGMENT_DEFINITION ? textNameOf(each) : `\`${print(each)}\``,
  )
  const isOperation = definition.kind === Kind.OPERATION_DEFINITION
  if (!isOperation && definition.kind !== Kind.FRAGMENT_DEFINITION) throw new Error(`a ${definition.kind}`)
  const name = definition.name?.value ?? ''
  const kind = isOperation ? `${definition.operation[0]?.toUpperCase()}${definition.operation.slice(1)}` : 'Fragment'
  const variables = isOperation ? `${name}${kind}Variables` : 'Record<string, never>'
  return `export const ${name} = /* @__PURE__ */ documentOf<${name}${kind}, ${variables}>(${texts.join(', ')})`
}

/** The constant with the text of a fragment: `COMMENT_PARTS`. */
function textNameOf({ name }: FragmentDefinitionNode): string {
  return name.value.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()
}

function documentsIn(folder: string): { location: string; document: DocumentNode }[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.graphql'))
    .sort()
    .map((file) => ({ location: file, document: parse(readFileSync(join(root, folder, file), 'utf8')) }))
}

function generate(
  schemaNode: DocumentNode,
  documents: { location: string; document: DocumentNode }[],
  pluginMap: Parameters<typeof codegen>[0]['pluginMap'],
  how: object,
): Promise<string> {
  const config = {
    ...how,
    scalars: { ID: 'string', DateTime: 'string', JSON: 'unknown' },
    enumType: 'string-literal',
    enumsAsTypes: true,
    useTypeImports: true,
    skipTypename: true,
    avoidOptionals: false,
    namingConvention: 'keep',
    dedupeFragments: true,
  }
  const plugins = Object.keys(pluginMap).map((name) => ({ [name]: {} }))
  return codegen({ filename: 'documents.ts', schema: schemaNode, documents, config, plugins, pluginMap })
}
