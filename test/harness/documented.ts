import { type GraphQLField, getOperationAST, Kind, type OperationTypeNode, parse } from 'graphql'

import { schema } from '../../src/api/execution/schema.ts'
import { openApiDocument } from '../../src/api/reference/openapi.ts'
import { codesOfField } from '../../src/api/reference/refusals.ts'
import type { Access } from '../../src/core/access.ts'
import type { ErrorCode } from '../../src/core/error-table.ts'
import type { Settings } from '../../src/core/settings/settings.ts'
import { ACCESS_EXTENSION } from '../../src/graphql/access.ts'
import { API_BASE } from '../../src/graphql/route.ts'
import { faults } from './faults.ts'
import { type Answer, type Checker, createChecker, type OpenApi, type Operation, undocumentedIn } from './openapi.ts'

interface Reference {
  document: OpenApi
  checker: Checker
  /** Those with fewer parameters first, as the router goes. */
  paths: readonly { path: RegExp; methods: Readonly<Record<string, Operation>> }[]
}

// One for the whole process: the documents of two services differ in addresses alone.
let reference: Reference | undefined

function referenceOf(settings: Settings): Reference {
  if (reference !== undefined) return reference
  const document = openApiDocument(schema, settings, 'http://127.0.0.1') as unknown as OpenApi
  const parameters = (path: string): number => path.split('{').length
  const paths = Object.entries(document.paths)
    .toSorted(([one], [other]) => parameters(one) - parameters(other))
    .map(([path, methods]) => ({
      path: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      methods,
    }))
  return (reference = { document, checker: createChecker(document), paths })
}

/** Notes what the OpenAPI document does not say of an answer of a route. */
export function noteAnswer(settings: Settings, method: string, path: string, answer: Answer): void {
  const { document, checker, paths } = referenceOf(settings)
  const { pathname } = new URL(API_BASE + path, 'http://127.0.0.1')
  const operation = paths.find((each) => each.path.test(pathname))?.methods[method.toLowerCase()]
  if (operation === undefined) return
  const missing = undocumentedIn(document, checker, operation, answer)
  if (missing !== null) faults.push(`${method} ${pathname}: ${missing}`)
  const { title, detail } = (answer.json ?? {}) as { title?: string; detail?: string }
  if (title !== undefined && detail === `${title}.`) faults.push(`${method} ${pathname} repeats its title as detail`)
  if (answer.text.includes('Variable \\"$')) faults.push(`${method} ${pathname} speaks of GraphQL: ${answer.text}`)
}

/** Errors of any root field beyond its declared ones: an id may be unknown, a key used already. */
const ANY_FIELD: readonly ErrorCode[] = ['not_found', 'idempotency_conflict', 'idempotency_in_progress']

interface Failure {
  path?: readonly (string | number)[]
  extensions?: { code: ErrorCode }
  message?: string
}

/** What every root field answers to a client token that may not ask it. */
const FOR_BACKENDS = 'A client token cannot ask '

/** Notes the errors that the root fields of a document do not say. */
export function noteErrors(query: string, answer: Answer): void {
  const failures = ((answer.json as { errors?: Failure[] } | undefined)?.errors ?? []).filter(({ path }) => path)
  if (failures.length === 0) return
  const fields = rootFieldsOf(query)
  for (const { path = [], extensions, message = '' } of failures) {
    if (message.startsWith(FOR_BACKENDS)) continue
    const field = fields.get(String(path[0]))
    if (field === undefined || extensions === undefined) continue
    const codes = [...ANY_FIELD, ...codesOfField(field, field.extensions[ACCESS_EXTENSION] as Access)]
    if (!codes.includes(extensions.code)) {
      faults.push(`${field.name} answered ${extensions.code}, which it does not name in \`throws\``)
    }
  }
}

/** The root fields of a document's only operation, by their names in the answer. */
function rootFieldsOf(query: string): Map<string, GraphQLField<unknown, unknown>> {
  const operation = getOperationAST(parse(query))
  const type = schema.getRootType(operation?.operation ?? ('query' as OperationTypeNode))
  const selections = operation?.selectionSet.selections ?? []
  return new Map(
    selections.flatMap((selection) => {
      const field = selection.kind === Kind.FIELD ? type?.getFields()[selection.name.value] : undefined
      return selection.kind === Kind.FIELD && field !== undefined
        ? [[selection.alias?.value ?? selection.name.value, field] as const]
        : []
    }),
  )
}
