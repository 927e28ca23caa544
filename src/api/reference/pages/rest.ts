import type { GraphQLSchema } from 'graphql'

import type { Settings } from '../../../core/settings/settings.ts'
import { openApiDocument } from '../openapi.ts'
import { code, page } from './markdown.ts'

interface Schema {
  $ref?: string
  type?: string | readonly string[]
  description?: string
  format?: string
  enum?: readonly unknown[]
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

interface Parameter {
  $ref?: string
  name: string
  in: string
  required?: boolean
  description?: string
  schema: Schema
  example?: unknown
}

type Content = Readonly<
  Record<string, { schema: Schema; example?: unknown; examples?: Readonly<Record<string, object>> }>
>

interface Operation {
  tags: readonly string[]
  summary: string
  description: string
  security: readonly Readonly<Record<string, unknown>>[]
  parameters?: readonly Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses: Readonly<Record<string, { $ref?: string; description?: string; content?: Content }>>
}

interface Document {
  info: { description: string }
  tags: readonly { name: string; description: string }[]
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  components: {
    schemas: Readonly<Record<string, Schema>>
    responses: Readonly<Record<string, { content?: Content }>>
  }
}

interface Route {
  method: string
  path: string
  operation: Operation
}

const nameIn = (ref: string): string => ref.split('/').at(-1) ?? ''
const titleOf = (tag: string): string => `${tag.charAt(0).toUpperCase()}${tag.slice(1)}`
/** The anchor of a heading, as GitHub makes it. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

/** `docs/reference/rest`: a page for each tag, and one of the objects that answers are made of. */
export function restPages(schema: GraphQLSchema, settings: Settings, baseUrl: string): Record<string, string> {
  const document = openApiDocument(schema, settings, baseUrl) as unknown as Document
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Route => ({ method: method.toUpperCase(), path, operation })),
  )
  const byTag = document.tags.map(({ name, description }) => ({
    name,
    description,
    routes: routes.filter(({ operation }) => operation.tags[0] === name),
  }))
  const everywhere = errorsOfMost(document, routes)
  const source = 'the routes and the GraphQL schema'
  const pages = byTag.map(({ name, description, routes: own }) => [
    `rest/${name}.md`,
    page(titleOf(name), source, [
      description,
      own
        .map(
          ({ method, path, operation }) =>
            `- [${operation.summary}](#${anchor(operation.summary)}): ${code(`${method} ${path}`)}`,
        )
        .join('\n'),
      ...own.flatMap((route) => sectionOf(document, route, everywhere)),
    ]),
  ])
  return {
    'rest/README.md': indexPage(document, byTag, everywhere, source),
    'rest/objects.md': objectsPage(document, routes, source),
    ...(Object.fromEntries(pages) as Record<string, string>),
  }
}

function indexPage(
  { info }: Document,
  byTag: readonly { name: string; description: string; routes: readonly Route[] }[],
  everywhere: ReadonlySet<string>,
  source: string,
): string {
  const introduction = info.description
    .replace(/\]\(https:\/\/[^()]*\/docs\/guides\/\)/, '](../../guides/README.md)')
    .replace(/\[[^\][]*\]\(https:\/\/[^()]*(\/api\/v1\/asyncapi\.json)\)/, (_, path: string) => code(path))
  return page('REST', source, [
    'Every route with its parameters, its body, an example and its errors. For programs the same is OpenAPI 3.1, at `/api/v1/openapi.json` of your service. API clients such as Bruno, Insomnia and Postman import it.',
    introduction,
    `Any request can be refused with ${[...everywhere].map(errorLink).join(', ')}. The list at each route leaves these out.`,
    '## Routes',
    ...byTag.flatMap(({ name, description, routes }) => [
      `### ${titleOf(name)}`,
      `[${titleOf(name)}](${name}.md): ${description}`,
      routes
        .map(
          ({ method, path, operation }) =>
            `- [${operation.summary}](${name}.md#${anchor(operation.summary)}): ${code(`${method} ${path}`)}`,
        )
        .join('\n'),
    ]),
    '## Objects',
    'What answers are made of: the [objects](objects.md).',
  ])
}

const errorLink = (name: string): string => `[${code(name)}](../errors.md#${name})`

/** The codes of the errors that a route answers with. */
const errorsOf = ({ components }: Document, { responses }: Operation): string[] =>
  Object.values(responses).flatMap(({ $ref }) => {
    const { content = {} } = components.responses[nameIn($ref ?? '')] ?? {}
    return Object.keys(content['application/problem+json']?.examples ?? {})
  })

/** The codes that all routes of the API but few have. */
function errorsOfMost(document: Document, routes: readonly Route[]): Set<string> {
  const counts = new Map<string, number>()
  for (const { operation } of routes) {
    for (const name of new Set(errorsOf(document, operation))) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return new Set([...counts].filter(([, count]) => count > 0.8 * routes.length).map(([name]) => name))
}

function sectionOf(document: Document, route: Route, everywhere: ReadonlySet<string>): string[] {
  const { method, path, operation } = route
  const { summary, description, parameters = [], requestBody, responses } = operation
  const named = parameters.filter(({ $ref }) => $ref === undefined)
  const [type = '', body] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const errors = errorsOf(document, operation).filter((name) => !everywhere.has(name))
  return [
    `## ${summary}`,
    `\`\`\`http\n${method} ${path}\n\`\`\``,
    description,
    ...(named.length === 0 ? [] : ['**Parameters**', named.map((each) => parameterLine(each)).join('\n')]),
    ...(body === undefined ? [] : ['**Body**', bodyText(document, type, body.schema)]),
    `\`\`\`sh\n${curlOf(route)}\n\`\`\``,
    ...Object.entries(responses).flatMap(([status, { $ref, description: text = '', content = {} }]) =>
      $ref === undefined ? [answerText(document, status, text, content), exampleText(content)] : [],
    ),
    errors.length === 0 ? '' : `**Errors:** ${errors.map(errorLink).join(', ')}.`,
  ].filter((part) => part !== '')
}

const oneLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')

function parameterLine({ name, in: place, required, description = '', schema }: Parameter): string {
  const facts = [
    place,
    typeOf(schema),
    ...bounds(schema),
    ...(required === true && place !== 'path' ? ['required'] : []),
  ]
  return `- ${code(name)} (${facts.join(', ')}): ${oneLine(description)}`
}

function bodyText(document: Document, type: string, schema: Schema): string {
  const target = schema.$ref === undefined ? schema : (document.components.schemas[nameIn(schema.$ref)] ?? {})
  if (target.properties === undefined) return `The bytes, as ${code(type)}.`
  return fieldLines(target)
}

/** The fields of an object. Those of an object without a name stand below their field. */
function fieldLines({ properties = {}, required = [] }: Schema, isAnswer = false, indent = ''): string {
  return Object.entries(properties)
    .map(([name, schema]) => {
      const facts = [typeOf(schema), ...bounds(schema), ...(!isAnswer && required.includes(name) ? ['required'] : [])]
      const inner = innerObject(schema)
      const line = `${indent}- ${code(name)} (${facts.join(', ')}): ${oneLine(schema.description ?? '')}`.replace(
        /: $/,
        '',
      )
      return inner === undefined ? line : `${line}\n${fieldLines(inner, isAnswer, `${indent}  `)}`
    })
    .join('\n')
}

/** The object without a name that a field has, also in a list. */
function innerObject({ properties, items, anyOf = [] }: Schema): Schema | undefined {
  if (properties !== undefined) return { properties }
  const within = [...(items === undefined ? [] : [items]), ...anyOf].find((each) => innerObject(each) !== undefined)
  return within?.properties === undefined ? undefined : within
}

const KINDS: Readonly<Record<string, string>> = {
  uuid: 'id',
  'date-time': 'time',
  uri: 'URL',
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'object',
  null: 'null',
}

/** A schema in words. Objects and choices are links. */
function typeOf(schema: Schema): string {
  const { $ref, type, format = '', anyOf, items, additionalProperties } = schema
  if ($ref !== undefined) return `[${code(nameIn($ref))}](objects.md#${anchor(nameIn($ref))})`
  if (schema.enum !== undefined) return `one of ${schema.enum.map(code).join(', ')}`
  if (anyOf !== undefined) return [...new Set(anyOf.map((each) => typeOf(each)))].join(' or ')
  const types = typeof type === 'string' ? [type] : (type ?? [])
  return types
    .map((each) => {
      if (each === 'array') return `list of ${items === undefined ? 'anything' : typeOf(items)}`
      if (each === 'object' && typeof additionalProperties === 'object' && schema.properties === undefined)
        return `object of ${typeOf(additionalProperties)}`
      return (each === 'string' ? KINDS[format] : undefined) ?? KINDS[each] ?? each
    })
    .join(' or ')
}

function bounds(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  return [
    range(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' entries'),
    schema.default === undefined ? '' : `default ${code(schema.default)}`,
  ].filter((text) => text !== '')
}

function range(from: number | undefined, to: number | undefined, unit: string): string {
  if (to === undefined) return from === undefined || (from === 0 && unit === '') ? '' : `at least ${from}${unit}`
  return from === undefined ? `at most ${to}${unit}` : `${from} to ${to}${unit}`
}

/** A word without quotes in it, for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The request with its example, for a shell that has `BASE`, `API_KEY` and so on. */
function curlOf({ method, path, operation: { parameters = [], requestBody, security } }: Route): string {
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const { example = name } = parameters.find((each) => each.name === name) ?? {}
    return String(example)
  })
  const query = parameters.filter((each) => each.in === 'query' && each.required === true)
  const asked = query.map(({ name, example = '' }) => `${name}=${encodeURIComponent(String(example))}`).join('&')
  const [type, body] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const lines = [
    `curl "$BASE${address}${asked && `?${asked}`}"${method === 'GET' ? '' : ` -X ${method}`}`,
    ...(security.length === 0 ? [] : [keyOf(security)]),
    ...(security.length > 0 && security.every((each) => 'Identity' in each)
      ? ['-H "X-Service-Identity: $ASSERTION"']
      : []),
    ...(type === undefined ? [] : [`-H 'Content-Type: ${type}'`]),
    ...(body === undefined
      ? []
      : type === 'application/json'
        ? [`-d ${quoted(JSON.stringify(body.example))}`]
        : ['--data-binary @part']),
  ]
  return lines.join(' \\\n  ')
}

const keyOf = (security: Operation['security']): string =>
  security.some((each) => 'ApiKey' in each) ? '-H "X-API-Key: $API_KEY"' : '-H "Authorization: Bearer $TOKEN"'

function answerText(document: Document, status: string, text: string, content: Content): string {
  const [type, answer] = Object.entries(content)[0] ?? []
  const plain = oneLine(text).replace(/^Success\.$/, '')
  if (answer === undefined) return `**${status}** ${plain}`.trim()
  const what = type === 'application/json' ? answerType(document, answer.schema) : code(type)
  const own = ownObjects(document, answer.schema).map((each) => fieldLines(each, true))
  return [`**${status}** ${what}${plain === '' ? '' : `. ${plain}`}`, ...own].join('\n\n')
}

/** Schemas of one route alone, which stand there: its answer, and a page of named objects. */
const IS_OWN = /(Answer|List)\d*$/

/** A list as `data` of its entries, anything else by its name. */
function answerType(document: Document, schema: Schema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => answerType(document, each)).join(', or ')
  const name = nameIn(schema.$ref ?? '')
  const entry = entryOf(document.components.schemas[name])
  if (entry !== undefined) return `a page of ${typeOf(entry)}`
  return IS_OWN.test(name) ? 'an object' : typeOf(schema)
}

/** What a page of a list has; undefined for what is no page, and for entries without a name. */
function entryOf(schema: Schema | undefined): Schema | undefined {
  const { data, hasMore } = schema?.properties ?? {}
  return hasMore === undefined || data?.items?.properties !== undefined ? undefined : data?.items
}

function ownObjects(document: Document, { $ref = '', anyOf = [] }: Schema): Schema[] {
  const name = nameIn($ref)
  const schema = document.components.schemas[name]
  const isShown = schema !== undefined && IS_OWN.test(name) && entryOf(schema) === undefined
  return [...(isShown ? [schema] : []), ...anyOf.flatMap((each) => ownObjects(document, each))]
}

function exampleText(content: Content): string {
  const [type, answer] = Object.entries(content)[0] ?? []
  if (answer?.example === undefined) return ''
  if (type === 'application/json') return `\`\`\`json\n${JSON.stringify(answer.example, null, 2)}\n\`\`\``
  return typeof answer.example === 'string' && answer.example.includes('\n')
    ? `\`\`\`text\n${answer.example.trimEnd()}\n\`\`\``
    : ''
}

/**
 * The schemas that routes name, and those within them, but for bodies, which stand at their routes.
 */
function objectsPage(document: Document, routes: readonly Route[], source: string): string {
  const { schemas } = document.components
  const seen = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { $ref } = value as Schema
    const name = typeof $ref === 'string' && $ref.startsWith('#/components/schemas/') ? nameIn($ref) : undefined
    if (name !== undefined && !seen.has(name)) {
      seen.add(name)
      visit(schemas[name])
    }
    for (const each of Object.values(value)) visit(each)
  }
  const bodies = new Set<string>()
  for (const { operation } of routes) {
    visit([operation.parameters, operation.requestBody, operation.responses])
    for (const { schema } of Object.values(operation.requestBody?.content ?? {})) bodies.add(nameIn(schema.$ref ?? ''))
  }
  const within = JSON.stringify([Object.values(schemas), routes.map(({ operation }) => operation.parameters)])
  const isOwn = (name: string): boolean => IS_OWN.test(name) && !within.includes(`"#/components/schemas/${name}"`)
  const shown = [...seen].filter((name) => !bodies.has(name) && !isOwn(name)).toSorted()
  return page('Objects', source, [
    'What the answers of [REST](README.md) are made of. A field that is not `null` by its type is always there.',
    ...shown.flatMap((name) => {
      const schema = schemas[name] ?? {}
      const text = schema.description ?? ''
      return [
        `## ${code(name)}`,
        text,
        schema.properties === undefined ? (text.includes('\n') ? '' : typeOf(schema)) : fieldLines(schema, true),
      ].filter((part) => part !== '')
    }),
  ])
}
