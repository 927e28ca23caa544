import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'

import { type Access, type Ctx, requireAccess } from '../core/context.ts'
import type { ErrorCode } from '../core/errors.ts'

/**
 * The extension with a root field's `access` in the built schema, for REST, OpenAPI and generated
 * tests.
 */
export const ACCESS_EXTENSION = 'access'

/** The extension with a root field's error codes beyond those of every request of its kind. */
export const THROWS_EXTENSION = 'throws'

type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>

const ROOTS = new Set(['Query', 'Mutation', 'Subscription'])

/**
 * Every root field declares its `access`, which is checked before its resolver runs. A field
 * without one is an error when the schema is built.
 *
 * Any query or mutation can be refused, so all of them are nullable: a refused field leaves the
 * answers of the fields beside it. Null always has an error; no resolver returns it.
 */
class AccessPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (!ROOTS.has(config.parentType)) return config
    const { throws = [] } = config.pothosOptions as { throws?: readonly ErrorCode[] }
    const own = { [ACCESS_EXTENSION]: accessOf(config), [THROWS_EXTENSION]: throws }
    const type = config.parentType === 'Subscription' ? config.type : { ...config.type, nullable: true }
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
  return (source, args, ctx, info) => {
    requireAccess(ctx as Ctx, access)
    return resolver(source, args, ctx, info)
  }
}

function accessOf<Types extends SchemaTypes>(config: PothosOutputFieldConfig<Types>): Access {
  const { access } = config.pothosOptions as { access?: Access }
  if (access === undefined) throw new Error(`${config.parentType}.${config.name} does not say who may use it (access)`)
  return access
}

SchemaBuilder.registerPlugin('access', AccessPlugin)
