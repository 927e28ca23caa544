import { type DocumentNode, type ExecutionArgs, type ExecutionResult, getOperationAST, GraphQLError } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'

import { roomOf } from '../../core/cache.ts'
import { type App, type Ctx, perApp } from '../../core/context.ts'
import { costOf } from './cost.ts'
import { createExecutor, type Operation } from './jit.ts'
import type { Params } from './params.ts'
import { check, requestErrors } from './prepare.ts'
import { schema } from './schema.ts'

/** What became of a request. `data` is there if its operation was executed. */
export interface Result extends ExecutionResult {
  isParsed: boolean
}

interface ServerContext {
  ctx: Ctx
}

/**
 * Yoga's engine; its HTTP is older than the standard. Yoga loads Node's fetch, which is 3 % of a
 * start: the first request opens it.
 */
const yogaOf = perApp((app) =>
  createYoga<ServerContext, Ctx>({
    schema,
    context: ({ ctx }) => ctx,
    plugins: [keepDocuments(app), executeInOrder(app), traceOperations],
    // Yoga's own masking knows no codes; ours is applied to every result.
    maskedErrors: false,
    batching: false,
    logging: false,
    parserAndValidationCache: false,
  }),
)

/** Runs the operation of a request within all limits. Its errors are not masked yet. */
export async function run(ctx: Ctx, params: Params, { isCostAsked = false } = {}): Promise<Result> {
  const { query, operationName } = params
  const variables = params.variables ?? {}
  const { parse, validate, execute, contextFactory } = yogaOf(ctx.app).getEnveloped({ ctx })
  let document: DocumentNode
  try {
    document = parse(query) as DocumentNode
  } catch (error) {
    if (error instanceof GraphQLError) return { errors: [error], isParsed: false }
    throw error
  }
  const errors = validate(schema, document) as readonly GraphQLError[]
  if (errors.length > 0) return { errors, isParsed: true }
  const contextValue = (await contextFactory()) as Ctx
  const args = { schema, document, operationName, variableValues: variables, contextValue }
  const result = (await execute(args)) as ExecutionResult
  if (!isCostAsked) return { ...result, isParsed: true }
  const cost = costOf(schema, document, { operationName, variables })
  return { ...result, extensions: { ...result.extensions, cost }, isParsed: true }
}

/** Documents come from the cache that subscriptions use too, with their errors. */
function keepDocuments(app: App): Plugin<Ctx> {
  const errorsOf = new WeakMap<DocumentNode, readonly GraphQLError[]>()
  return {
    onParse: ({ setParseFn }) =>
      setParseFn((source: string) => {
        const { document, errors } = check(app, source)
        if (document === null) throw errors[0] as GraphQLError
        errorsOf.set(document, errors)
        return document
      }),
    onValidate: ({ params: { documentAST }, setResult }) => setResult([...(errorsOf.get(documentAST) ?? [])]),
  }
}

/** Yoga's own executor answers fields as they are ready, not in the order of the selection. */
function executeInOrder(app: App): Plugin<Ctx> {
  const executor = createExecutor(schema, { room: roomOf(app, 'compiledDocuments') })
  return {
    onExecute: ({ args, setExecuteFn, setResultAndStopExecution }) => {
      const errors = requestErrors(args.document, args.operationName, args.variableValues ?? {})
      if (errors.length > 0) return setResultAndStopExecution({ errors })
      setExecuteFn((given: ExecutionArgs) => executor(given as Operation))
    },
  }
}

/** An operation is a span of its request's trace, named by its kind and name. */
const traceOperations: Plugin<Ctx> = {
  onExecute({ args }) {
    const { span } = args.contextValue.app
    const operation = span && getOperationAST(args.document, args.operationName)
    if (span === undefined || operation == null) return undefined
    const { operation: kind, name } = operation
    const named = name === undefined ? {} : { 'graphql.operation.name': name.value.slice(0, MAX_NAME) }
    const part = span.enter(kind, { attributes: { 'graphql.operation.type': kind, ...named } })
    return {
      onExecuteDone: ({ result }) => part.end('errors' in result && result.errors !== undefined ? 'errors' : undefined),
    }
  },
}

/** The most characters of an operation's name in a trace. */
const MAX_NAME = 64
