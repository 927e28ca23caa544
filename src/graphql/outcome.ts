import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import { type GraphQLFieldResolver, type GraphQLOutputType, getNullableType, isListType, isObjectType } from 'graphql'

import type { Ctx, Noted, Outcome } from '../core/context.ts'
import { ServiceError } from '../core/errors.ts'

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
/** `until`, in milliseconds since 1970: from then on the field is run again. */
type Fields = Record<string, { value: unknown; until?: number } | { refusal: Pick<ServiceError, 'code' | 'extras'> }>

/**
 * The extension of a mutation field whose answer is of use for a time. Where a replay runs it
 * again, it must change nothing: `ctx.earlier` has what it answered first.
 */
const ENDS_EXTENSION = 'answerEnds'

/** The extension, by what tells the end of an answer. */
export const answerEnds = <Payload>(endOf: (payload: Payload) => Date) => ({ [ENDS_EXTENSION]: endOf })

/** The member of a stored value that stands for a node. */
const NODE_ID = '$node'

/**
 * Notes what each mutation field of a request answers, with ids in the place of nodes. `text` is
 * all of it; `replayOf` reads it. From `endsAt` on, in milliseconds since 1970, a field is to be
 * run again.
 */
export class OutcomeNotes implements Outcome {
  // A field may be called `__proto__`.
  readonly #fields = Object.create(null) as Fields
  endsAt = Infinity

  async of(name: string, resolve: () => unknown, noted: Noted): Promise<unknown> {
    try {
      const value = await resolve()
      const { end, ...kept } = noted(value)
      this.#fields[name] = { ...kept, ...(end !== null && { until: end.getTime() }) }
      if (end !== null) this.endsAt = Math.min(this.endsAt, end.getTime())
      return value
    } catch (error) {
      // An outcome with any other error is not stored.
      if (error instanceof ServiceError) {
        const { cause: _cause, ...extras } = error.extras
        this.#fields[name] = { refusal: { code: error.code, extras } }
      }
      throw error
    }
  }

  text(): string {
    return JSON.stringify(this.#fields)
  }
}

/**
 * Answers each mutation field by what was noted of it, and runs none but those whose answer is of
 * no more use. `findNode` returns the node with an id as it is now, or null.
 */
export function replayOf(text: string, findNode: (id: string) => Promise<object | null>): Outcome {
  const fields = JSON.parse(text) as Fields
  const withNodes = async (value: Json): Promise<unknown> => {
    if (value === null || typeof value !== 'object') return value
    if (isList(value)) return Promise.all(value.map(withNodes))
    const { [NODE_ID]: id, ...own } = value
    if (typeof id !== 'string') {
      const members = Object.entries(value).map(async ([name, each]) => [name, await withNodes(each)] as const)
      return Object.fromEntries(await Promise.all(members))
    }
    const node = await findNode(id)
    // As a value, the error fails the fields that ask for the node, and no others.
    if (node === null) return new ServiceError('not_found', { detail: 'What this request answered is gone.' })
    return { ...node, ...own }
  }
  return {
    of: async (name, resolve) => {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined
      if (field === undefined) throw new Error(`nothing was noted of ${name}`)
      if ('value' in field) {
        const isOver = field.until !== undefined && field.until <= Date.now()
        return isOver ? resolve(field.value) : withNodes(field.value as Json)
      }
      throw new ServiceError(field.refusal.code, field.refusal.extras)
    },
  }
}

interface AnswerError {
  path?: readonly (string | number)[]
}

interface Answer {
  /** Absent where the operation is refused as a whole. */
  data?: Readonly<Record<string, unknown>> | null
  errors?: readonly AnswerError[]
}

/**
 * The first answer of a request, with the fields that its replay `again` has run again; `first` and
 * the bodies are JSON texts. REST has one mutation a request, and so all of its answer was made
 * again. A document that was good may be refused by now, by another release or setting: then this
 * is the answer.
 */
export function renewed<Response extends { status: number; body: string }>(
  text: string,
  first: string,
  again: Response,
): Response {
  const fields = JSON.parse(text) as Fields
  const isOver = (name: string): boolean => {
    const field = fields[name]
    return field !== undefined && 'value' in field && field.until !== undefined && field.until <= Date.now()
  }
  if (Object.keys(fields).every(isOver)) return again
  const [before, now] = [JSON.parse(first), JSON.parse(again.body)] as [Answer, Answer]
  if (now.data == null) return again
  const ofNow = ({ path }: AnswerError): boolean => path === undefined || isOver(String(path[0]))
  const made = Object.entries(now.data).filter(([name]) => isOver(name))
  const errors = [...(before.errors ?? []).filter((error) => !ofNow(error)), ...(now.errors ?? []).filter(ofNow)]
  const data = { ...before.data, ...Object.fromEntries(made) }
  const isWhole = errors.length === 0
  const body = JSON.stringify({ ...now, data, errors: isWhole ? undefined : errors })
  return { ...again, status: isWhole ? 200 : again.status, body }
}

// Array.isArray does not narrow a readonly array.
const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

/** What JSON keeps of a value of a GraphQL type, with ids in the place of nodes. */
function withIds(type: GraphQLOutputType | undefined, value: unknown): Json {
  const of = type && getNullableType(type)
  if (value === null || value === undefined) return null
  if (typeof value !== 'object') return value as Json
  if (Array.isArray(value)) return value.map((each) => withIds(isListType(of) ? of.ofType : undefined, each))
  if (!isObjectType(of)) return JSON.parse(JSON.stringify(value)) as Json
  if (of.getInterfaces().some(({ name }) => name === 'Node')) {
    // The asserted reader sees more of themselves.
    const own = 'isViewer' in value ? { isViewer: true } : {}
    return { [NODE_ID]: (value as { id: string }).id, ...own }
  }
  const fields = of.getFields()
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withIds(fields[name]?.type, each)]))
}

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>

/** Leads every mutation field through the outcome of its request, where that has one. */
class OutcomePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(resolve: Resolver<Types>, config: PothosOutputFieldConfig<Types>): Resolver<Types> {
    if (config.parentType !== 'Mutation') return resolve
    return (source, args, ctx, info) => {
      const { outcome } = ctx as Ctx
      if (outcome === undefined) return resolve(source, args, ctx, info)
      const run = (earlier?: unknown): unknown =>
        resolve(source, args, earlier === undefined ? ctx : { ...ctx, earlier }, info)
      const endOf = config.extensions?.[ENDS_EXTENSION] as ((payload: unknown) => Date) | undefined
      return outcome.of(String(info.path.key), run, (value) => ({
        value: withIds(info.returnType, value),
        end: endOf?.(value) ?? null,
      }))
    }
  }
}

SchemaBuilder.registerPlugin('outcome', OutcomePlugin)
