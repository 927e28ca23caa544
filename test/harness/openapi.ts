import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'

import type { ErrorCode } from '../../src/core/error-table.ts'
import type { Schema } from '../../src/api/reference/json-schema.ts'
import { API_BASE } from '../../src/graphql/route.ts'
import type { DescribedRoute } from './routes.ts'

/** An answer of the service, as far as a document describes it. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  json: unknown
}

/** What the tests read of an OpenAPI document. */
export interface OpenApi {
  info: { description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
    parameters: Record<string, Parameter>
    examples: Record<string, { value: { code: ErrorCode } }>
  }
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  parameters?: (Parameter | { $ref: string })[]
  requestBody?: { required: boolean; content: { 'application/json': Media } }
  responses: Record<string, Response | { $ref: string }>
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
  example?: unknown
}

interface Response {
  description: string
  content?: Record<string, Media>
}

interface Media {
  schema: Schema
  example?: unknown
  examples?: Record<string, { $ref: string }>
}

/** What a `$ref` of the document leads to; anything else is itself. */
export function follow<T extends object>(document: OpenApi, value: T | { $ref: string }): T {
  if (!('$ref' in value)) return value
  const found = value.$ref
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document)
  expect(found, value.$ref).toBeDefined()
  return found as T
}

/** The documented operation of a route. */
export function operationOf(document: OpenApi, { route, title }: DescribedRoute): Operation {
  const shape = (path: string): string => path.replace(/:\w+|\{\w+\}/g, ':')
  const path = Object.keys(document.paths).find((key) => shape(key) === shape(API_BASE + route.path))
  const operation = document.paths[path ?? '']?.[route.method.toLowerCase()]
  if (operation === undefined) throw new Error(`${title} is not in the document`)
  return operation
}

/**
 * Checks values against schemas of the document. A field that it does not describe is wrong, too.
 */
export function createChecker(document: object) {
  // To optimize the code of a schema takes longer than a test runs it.
  const ajv = new Ajv2020({ strict: false, allErrors: true, code: { optimize: false } })
  addFormats.default(ajv)
  ajv.addSchema(closed(document) as object, 'document')
  const made = new Map<string, ValidateFunction>()
  const validatorOf = (schema: Schema): ValidateFunction => {
    const key = JSON.stringify(schema)
    const text = key.replaceAll('"#/', '"document#/')
    const validate = made.get(key) ?? ajv.compile(closed(JSON.parse(text)) as object)
    made.set(key, validate)
    return validate
  }
  return {
    /** What is wrong with `value`; null where nothing is. */
    errorsOf(schema: Schema, value: unknown): string | null {
      const validate = validatorOf(schema)
      return validate(value) ? null : ajv.errorsText(validate.errors)
    },
  }
}

export type Checker = ReturnType<typeof createChecker>

/** The same with every object closed whose fields are told. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, entry]) => [name, closed(entry)] as const)
  const isOpen = 'properties' in value && 'type' in value && !('additionalProperties' in value)
  return { ...Object.fromEntries(entries), ...(isOpen ? { additionalProperties: false } : {}) }
}

/**
 * What the document does not say of an answer: its status, its media type, its code, a field of its
 * body; null where it says all of it.
 */
export function undocumentedIn(
  document: OpenApi,
  checker: Checker,
  { operationId, responses }: Operation,
  answer: Answer,
): string | null {
  const said = `${operationId} answered ${answer.status}`
  const named = responses[answer.status]
  if (named === undefined) return `${said}, which is not documented: ${answer.text}`
  const { content } = follow<Response>(document, named)
  if (content === undefined) return answer.text === '' ? null : `${said} with a body: ${answer.text}`
  const type = (answer.headers.get('content-type') ?? '').split(';')[0] ?? ''
  const media = content[type]
  if (media === undefined) return `${said} as ${type}`
  const errors = checker.errorsOf(media.schema, answer.json)
  if (errors !== null) return `${said}, and ${errors}: ${answer.text}`
  const { code } = answer.json as { code: string }
  if (answer.status < 400 || code in (media.examples ?? {})) return null
  return `${operationId} answered ${code}: its root field must name it in \`throws\``
}

export const expectDocumented = (...args: Parameters<typeof undocumentedIn>): void =>
  expect(undocumentedIn(...args)).toBeNull()
