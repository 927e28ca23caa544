import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'

import { type Access, requireAccess } from '../core/access.ts'
import { type BrowserActor, isBrowser } from '../core/caller.ts'
import type { Ctx } from '../core/context.ts'
import type { ErrorCode } from '../core/error-table.ts'
import { ServiceError } from '../core/errors.ts'

/**
 * The extension with a root field's `access` in the built schema, for REST, OpenAPI and generated
 * tests.
 */
export const ACCESS_EXTENSION = 'access'

/** The extension with a root field's error codes beyond those of every request of its kind. */
export const THROWS_EXTENSION = 'throws'

/** The extension that says whether a browser may ask a root field: a client token, or a site. */
export const CLIENT_EXTENSION = 'client'

/**
 * Whether a browser may ask a root field too. A function checks its arguments before the resolver
 * runs, against the discussions that a client token names, or the pages of a site; it may refuse.
 */
export type ClientAccess = true | ((ctx: Ctx, args: never) => unknown)

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>

const ROOTS = new Set(['Query', 'Mutation', 'Subscription'])

/**
 * Every root field declares its `access`, which is checked before its resolver runs. A field
 * without one is an error when the schema is built.
 *
 * Any query or mutation can be refused, so all of them are nullable: a refused field leaves the
 * answers of the fields beside it. Null has an error, but for `node` and the entries of `nodes`.
 * The two fields with `_` have the types that Federation gives them.
 */
class AccessPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (!ROOTS.has(config.parentType)) return config
    const { throws = [], client } = config.pothosOptions as { throws?: readonly ErrorCode[]; client?: ClientAccess }
    const own = {
      [ACCESS_EXTENSION]: accessOf(config),
      [THROWS_EXTENSION]: throws,
      [CLIENT_EXTENSION]: client !== undefined,
    }
    const isGiven = config.parentType === 'Subscription' || config.name.startsWith('_')
    const type = isGiven ? config.type : { ...config.type, nullable: true }
    return { ...config, type, extensions: { ...config.extensions, ...own } }
  }

  override wrapResolve(resolve: Resolver<Types>, config: PothosOutputFieldConfig<Types>): Resolver<Types> {
    // A subscription is checked once, when it begins.
    if (config.parentType === 'Subscription') return resolve
    return guard(resolve, config)
  }

  override wrapSubscribe(
    subscribe: Resolver<Types> | undefined,
    config: PothosOutputFieldConfig<Types>,
  ): Resolver<Types> | undefined {
    return subscribe === undefined ? undefined : guard(subscribe, config)
  }
}

function guard<Types extends SchemaTypes>(
  resolver: Resolver<Types>,
  config: PothosOutputFieldConfig<Types>,
): Resolver<Types> {
  if (!ROOTS.has(config.parentType)) return resolver
  const access = accessOf(config)
  const { client } = config.pothosOptions as { client?: ClientAccess }
  const name = `${config.parentType}.${config.name}`
  return (source, args, ctx, info) => {
    const actor = (ctx as Ctx).caller?.actor
    if (actor === undefined || !isBrowser(actor)) {
      requireAccess(ctx as Ctx, access)
      return resolver(source, args, ctx, info)
    }
    if (client === undefined) throw notForBrowsers(actor, name)
    if (actor.kind === 'site' && !actor.graphql.posting && config.parentType === 'Mutation') throw takesNoWrites()
    requireAccess(ctx as Ctx, access)
    if (client === true) return resolver(source, args, ctx, info)
    return Promise.resolve(client(ctx as Ctx, args as never)).then(() => resolver(source, args, ctx, info))
  }
}

// Closed by default: a new field is for backends until it says otherwise.
const notForBrowsers = ({ kind }: BrowserActor, name: string): ServiceError =>
  new ServiceError('missing_capability', {
    detail: `${kind === 'client' ? 'A client token' : 'The page of a site'} cannot ask ${name}.`,
  })

const takesNoWrites = (): ServiceError =>
  new ServiceError('missing_capability', { detail: 'The site takes no writes: its setting posting is off.' })

function accessOf<Types extends SchemaTypes>(config: PothosOutputFieldConfig<Types>): Access {
  const { access } = config.pothosOptions as { access?: Access }
  if (access === undefined) throw new Error(`${config.parentType}.${config.name} does not say who may use it (access)`)
  return access
}

SchemaBuilder.registerPlugin('access', AccessPlugin)

/** The rules of a root field. */
export interface Rules {
  access: Access
  /** Whether a client token may ask it too: not without this. */
  client?: ClientAccess
  /** Error codes beyond those of every request of its kind, for the reference. */
  throws?: readonly ErrorCode[]
}

// The parameters must be those of the declarations that these merge with.
declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      access: import('@pothos/core').BasePlugin<Types>
      budget: import('@pothos/core').BasePlugin<Types>
      outcome: import('@pothos/core').BasePlugin<Types>
    }
    interface QueryFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends Rules {}
    interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > extends Rules {}
    interface SubscriptionFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveShape,
      ResolveReturnShape,
    > extends Rules {}
  }
}
