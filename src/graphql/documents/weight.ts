import type { GraphQLField, GraphQLResolveInfo } from 'graphql'

import { type Ctx, ofRequest } from '../../core/context.ts'
import type { EdgePlan, Plan } from '../plan.ts'

type Fields = Readonly<Record<string, unknown>>

/** Bytes of a computed, short value: a viewer's reaction, a name. */
const COMPUTED = 300
const NULL = 4

/**
 * The objects that resolvers have loaded for measuring, so that the same resolvers need no second
 * query. Each request has its own: it may share a comment with requests of other readers, who have
 * other reactions to it.
 */
const foundIn = ofRequest(() => new Map<unknown, Map<string, unknown>>())

/** The objects loaded for this field of `source`; undefined if there are none. */
export const foundFor = (ctx: Ctx, source: unknown, name: string): unknown => foundIn(ctx).get(source)?.get(name)

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

/**
 * Loads what the nodes of a page do not contain themselves, such as the parents of comments, and
 * computes the fields that are measured.
 */
export async function findObjects(
  nodes: readonly unknown[],
  plan: Plan,
  ctx: Ctx,
  info: GraphQLResolveInfo,
): Promise<void> {
  const sources = nodes.filter(isFields)
  const found = foundIn(ctx)
  const find = async (source: Fields, { name, resolve }: GraphQLField<unknown, unknown>): Promise<unknown> => {
    // A failure recurs when the field is answered.
    const value: unknown = await Promise.resolve(resolve?.(source, {}, ctx, info)).catch(() => undefined)
    if (value !== undefined) found.set(source, (found.get(source) ?? new Map<string, unknown>()).set(name, value))
    return value
  }
  await Promise.all(plan.computed.flatMap((field) => sources.map((source) => find(source, field))))
  for (const { field, plan: inner } of plan.objects) {
    const values = await Promise.all(
      sources.map((source) =>
        source[field.name] !== undefined || field.args.length > 0 ? source[field.name] : find(source, field),
      ),
    )
    await findObjects(values.flatMap(listOf), inner, ctx, info)
  }
}

/** Whether a node has objects or fields that `findObjects` would load. */
export const needsObjects = (node: unknown, { objects, computed }: Plan): boolean =>
  isFields(node) &&
  (computed.length > 0 ||
    objects.some(({ field, plan }) => {
      const value = node[field.name]
      return value === undefined || listOf(value).some((each) => needsObjects(each, plan))
    }))

interface Edge {
  cursor: string
  node: unknown
}

/** The most bytes that a page's edges can have in the answer: quicker than to measure them. */
export function mostBytes(ctx: Ctx, edges: readonly Edge[], plan: EdgePlan): number {
  let bytes = 0
  for (const edge of edges) bytes += edgeBytes(ctx, edge, plan, mostOfText)
  return bytes
}

/** Bytes of an edge in the answer. */
export function edgeBytes(ctx: Ctx, edge: Edge, { fixed, cursors, nodes }: EdgePlan, ofText = bytesOfText): number {
  let bytes = cursors === 0 ? fixed : fixed + cursors * (edge.cursor.length + 2)
  for (const plan of nodes) bytes += objectBytes(ctx, edge.node, plan, ofText)
  return bytes
}

type BytesOf = (text: string) => number

function objectBytes(ctx: Ctx, value: unknown, plan: Plan, ofText: BytesOf): number {
  if (!isFields(value)) return NULL
  let bytes = plan.fixed
  for (const name of plan.texts) bytes += valueBytes(value[name], ofText)
  for (const { name } of plan.computed) bytes += valueBytes(foundFor(ctx, value, name), ofText)
  for (const { field, plan: inner } of plan.objects) {
    const held = value[field.name] ?? foundFor(ctx, value, field.name)
    for (const each of listOf(held)) bytes += objectBytes(ctx, each, inner, ofText)
  }
  return bytes
}

function valueBytes(value: unknown, ofText: BytesOf): number {
  if (value === undefined) return COMPUTED
  if (value === null) return NULL
  return typeof value === 'string' ? ofText(value) : jsonBytes(value)
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

// Characters that JSON does not escape, and that are one byte in UTF-8.
const PLAIN = /^[ !#-[\]-~]*$/

const bytesOfText: BytesOf = (text) => (PLAIN.test(text) ? text.length + 2 : jsonBytes(text))

/** An escape like `\u0000` has six bytes, and no character has more. */
const mostOfText: BytesOf = (text) => 6 * text.length + 2
