import type { FieldMap, InputFieldMap, InputShapeFromFields } from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'
import type { z } from 'zod'

import type { Ctx } from '../core/context.ts'
import type { Rules } from './access.ts'
import { builder, type InputFields, type ObjectFields } from './builder.ts'
import { shapedBy } from './shape.ts'

interface Mutation<Fields extends InputFieldMap, Answer> extends Rules {
  /** The description of the input. */
  takes?: string
  /** The schema of the operation's check, for the reference. */
  shape?: z.ZodType
  isOneOf?: true
  /** Without it, the mutation takes nothing. */
  input?: (t: InputFields) => Fields
  description: string
  extensions?: object
  resolve: (input: InputShapeFromFields<Fields>, ctx: Ctx, info: GraphQLResolveInfo) => Answer | Promise<Answer>
  /** The description of the payload. */
  answers?: string
  /** The fields of the payload, from what `resolve` returns. */
  output: (t: ObjectFields<Answer>) => FieldMap
}

/** Adds a mutation with one argument `input` and a payload of its own, as Relay expects. */
export function addMutation<Fields extends InputFieldMap, Answer>(
  name: string,
  { takes, shape, isOneOf, input, resolve, answers, output, ...field }: Mutation<Fields, Answer>,
): void {
  builder.relayMutationField(
    name,
    input === undefined
      ? null
      : {
          ...(takes !== undefined && { description: takes }),
          ...(shape !== undefined && { extensions: shapedBy(shape) }),
          ...(isOneOf && { isOneOf }),
          inputFields: input,
        },
    {
      ...field,
      resolve: (_root: object, args: { input: InputShapeFromFields<Fields> }, ctx: Ctx, info: GraphQLResolveInfo) =>
        resolve(args.input, ctx, info),
      // Pothos would infer the type of the payload, which `Mutation` has checked.
    } as never,
    { ...(answers !== undefined && { description: answers }), outputFields: output } as never,
  )
}
