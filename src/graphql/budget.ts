import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver, GraphQLResolveInfo } from 'graphql'

import { type Ctx, ofRequest } from '../core/context.ts'
import { MAX_ANSWER_BYTES, type Page, type PageArgs, shortened } from '../core/input/page.ts'
import { invalid } from '../core/errors.ts'
import { nodeTypeOf } from './node-type.ts'
import { type EdgePlan, edgePlanOf, isConnectionName, isMeasured, nodePlanOf, type Plan } from './plan.ts'
import { edgeBytes, findObjects, foundFor, mostBytes, needsObjects } from './documents/weight.ts'

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>

/** Bytes of an answer outside of its lists. */
const RESERVED_BYTES = 100_000

type Edges = Page<unknown>['edges']

/**
 * The bytes left for the lists of one answer. They share the budget: nested pages get what the
 * enclosing ones leave. What a statement reads is bounded beside it (`upToBytes`), and cannot take
 * its place: a statement knows nothing of the other lists of the answer, of texts that are asked
 * for under several names, and of what is computed.
 */
class Budget {
  readonly #ctx: Ctx
  left = MAX_ANSWER_BYTES - RESERVED_BYTES
  /**
   * Pages that have been taken without being measured, and the most bytes that they can have. Most
   * answers are so short that no page is ever measured.
   */
  #taken: { edges: Edges; plan: EdgePlan }[] = []
  #most = 0

  constructor(ctx: Ctx) {
    this.#ctx = ctx
  }

  /** Takes a page if it fits whatever its exact length is. */
  takesWhole(edges: Edges, plan: EdgePlan): boolean {
    const most = this.#most + mostBytes(this.#ctx, edges, plan)
    if (most > this.left) return false
    this.#most = most
    this.#taken.push({ edges, plan })
    return true
  }

  /** Takes the edges that fit, and returns how many: the first one of an answer always does. */
  take(edges: readonly { cursor: string; node: unknown }[], plan: EdgePlan): number {
    let kept = 0
    for (const edge of edges) {
      const bytes = edgeBytes(this.#ctx, edge, plan)
      if (bytes > this.left && this.left !== MAX_ANSWER_BYTES - RESERVED_BYTES) break
      this.left -= bytes
      kept++
    }
    return kept
  }

  /** Measures what has been taken without. */
  settle(): void {
    for (const { edges, plan } of this.#taken) for (const edge of edges) this.left -= edgeBytes(this.#ctx, edge, plan)
    this.#taken = []
    this.#most = 0
  }
}

const budgetsOf = ofRequest(() => new Map<unknown, Budget>())

/** That of an answer: the events of a replay share one context, and each has an answer. */
function budgetOf(ctx: Ctx, { rootValue }: GraphQLResolveInfo): Budget {
  const budgets = budgetsOf(ctx)
  const budget = budgets.get(rootValue) ?? new Budget(ctx)
  budgets.set(rootValue, budget)
  return budget
}

/**
 * Shortens a page if the answer would become too long. The very first entry is answered whatever
 * its length.
 */
async function withinBudget(page: Page<unknown>, args: PageArgs, ctx: Ctx, info: GraphQLResolveInfo) {
  if (page.edges.length === 0) return page
  const plan = edgePlanOf(info)
  const nodes = page.edges.map(({ node }) => node)
  for (const each of plan.nodes) {
    if (nodes.some((node) => needsObjects(node, each))) await findObjects(nodes, each, ctx, info)
  }
  const budget = budgetOf(ctx, info)
  if (budget.takesWhole(page.edges, plan)) return page
  budget.settle()
  const kept = budget.take(page.edges, plan)
  return kept === page.edges.length ? page : shortened(page, kept, args)
}

/**
 * The beginning of a list without pages, of objects of a type, that fits into the answer. The very
 * first entry is answered whatever its length.
 */
export async function upToBudget<Entry extends object>(
  ctx: Ctx,
  info: GraphQLResolveInfo,
  typeName: string,
  list: readonly Entry[],
): Promise<Entry[]> {
  const plan = nodePlanOf(info, typeName)
  if (list.some((each) => needsObjects(each, plan))) await findObjects(list, plan, ctx, info)
  const budget = budgetOf(ctx, info)
  budget.settle()
  const edges = list.map((node) => ({ cursor: '', node }))
  return list.slice(0, budget.take(edges, { fixed: 0, cursors: 0, nodes: [plan] }))
}

/**
 * Takes objects by their ids, which cannot be shortened. Throws `validation_failed` at the argument
 * if the answer would become too long; a single object is answered whatever its length.
 */
export async function takeNodes(
  ctx: Ctx,
  info: GraphQLResolveInfo,
  nodes: readonly (object | null)[],
  argument = '/ids',
): Promise<void> {
  const found = nodes.filter((node) => node !== null)
  const budget = budgetOf(ctx, info)
  for (const type of new Set(found.map(nodeTypeOf))) {
    const ofType = found.filter((node) => nodeTypeOf(node) === type)
    const plan = nodePlanOf(info, type)
    if (ofType.some((node) => needsObjects(node, plan))) await findObjects(ofType, plan, ctx, info)
    budget.settle()
    const page = { fixed: 0, cursors: 0, nodes: [plan] }
    for (const node of ofType) budget.left -= edgeBytes(ctx, { cursor: '', node }, page)
  }
  if (budget.left >= 0 || found.length === 1) return
  throw invalid(
    argument,
    'too_long',
    'ask for more than an answer may have: ask for fewer at once, or for fewer fields',
  )
}

/**
 * Takes a list that has no pages, of `count` objects of a type whose values are short. Throws
 * `validation_failed` at the argument if the answer would become too long. What is alone there may
 * have twice as much: the bytes of a number are those of a long one.
 */
export function takeList(
  ctx: Ctx,
  info: GraphQLResolveInfo,
  { count, typeName, argument }: { count: number; typeName: string; argument: string },
): void {
  const budget = budgetOf(ctx, info)
  budget.settle()
  const bytes = count * shortBytes(nodePlanOf(info, typeName))
  const isFirst = budget.left === MAX_ANSWER_BYTES - RESERVED_BYTES
  if (bytes > (isFirst ? 2 * MAX_ANSWER_BYTES : budget.left))
    throw invalid(argument, 'too_long', 'asks for more than an answer may have: ask for less at once')
  budget.left -= bytes
}

const shortBytes = ({ fixed, objects }: Plan): number =>
  objects.reduce((sum, { plan }) => sum + shortBytes(plan), fixed)

/** Bounds every connection in bytes, and reuses the objects that were loaded to measure it. */
class BudgetPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(resolve: Resolver<Types>, config: PothosOutputFieldConfig<Types>): Resolver<Types> {
    const { type } = config
    const isOfObjects = type.kind === 'Object' || (type.kind === 'List' && type.type.kind === 'Object')
    if (!isOfObjects && !isMeasured(config.extensions ?? {})) return resolve
    if (type.kind === 'Object' && isConnectionName(this.builder.configStore.getTypeConfig(type.ref).name)) {
      return async (source, args, ctx, info) => {
        const page = (await resolve(source, args, ctx, info)) as Page<unknown> | null
        return page && withinBudget(page, args, ctx as Ctx, info)
      }
    }
    return (source, args, ctx, info) => {
      const found = foundFor(ctx as Ctx, source, config.name)
      return found === undefined ? resolve(source, args, ctx, info) : found
    }
  }
}

SchemaBuilder.registerPlugin('budget', BudgetPlugin)
