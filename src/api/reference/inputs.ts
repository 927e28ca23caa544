import {
  getNamedType,
  getNullableType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  Kind,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'

import { variableTypes } from '../execution/input.ts'
import { shapeOf } from '../../graphql/shape.ts'
import { choicesIn, operationOf } from '../rest/handler.ts'
import type { Route } from '../../graphql/route.ts'
import { boundsOf, type Components, described, orNull, type Schema, withoutNull } from './json-schema.ts'
import { idSchema, leafSchema } from './scalars.ts'

/** One input of a route, in its path, its query or its body. */
export interface Input {
  name: string
  in: 'path' | 'query' | 'body'
  type: GraphQLInputType
  isRequired: boolean
  description: string | null | undefined
  /** The schema by which its operation checks it. */
  shape: Schema | undefined
  default: unknown
}

/** All inputs of a route: the variables of its operation, or the fields of a single `input`. */
export function inputsOf(schema: GraphQLSchema, route: Route): Input[] {
  const inPath = new Set([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name))
  const beyond = route.method === 'GET' ? 'query' : 'body'
  return [...fieldsOf(schema, route), ...argumentsOf(schema, route)].map((field) => ({
    ...field,
    in: inPath.has(field.name) ? 'path' : beyond,
    isRequired: inPath.has(field.name) || field.isRequired,
  }))
}

type Field = Omit<Input, 'in'>

function fieldsOf(schema: GraphQLSchema, route: Route): Field[] {
  const input = variableTypes(schema, operationOf(route).variableDefinitions ?? []).get('input')
  if (input === undefined) return []
  const choices = choicesIn(input)
  const own = fieldsIn(getNamedType(input)).filter(({ name }) => choices.every((choice) => choice.name !== name))
  return [...own, ...choices.flatMap(({ type }) => fieldsIn(type))]
}

function fieldsIn(type: GraphQLNamedType): Field[] {
  if (!isInputObjectType(type)) return []
  const shapes = propertiesOf(shapeOf(type.extensions))
  return Object.values(type.getFields()).map((field) => ({
    name: field.name,
    type: field.type,
    isRequired: isRequiredInputField(field),
    description: field.description,
    shape: shapes?.[field.name],
    default: field.defaultValue,
  }))
}

/** The variables that stand for arguments or fields of inputs, each with its description. */
function argumentsOf(schema: GraphQLSchema, route: Route): Field[] {
  const types = variableTypes(schema, operationOf(route).variableDefinitions ?? [])
  const stood = new Map<string, GraphQLArgument | GraphQLInputField>()
  const shapes = new Map<string, Schema | undefined>()
  const info = new TypeInfo(schema)
  visit(
    route.document,
    visitWithTypeInfo(info, {
      Argument({ value }) {
        const argument = info.getArgument()
        if (argument != null && value.kind === Kind.VARIABLE) stood.set(value.name.value, argument)
      },
      ObjectField({ name, value }) {
        const parent = getNamedType(info.getParentInputType())
        if (!isInputObjectType(parent) || value.kind !== Kind.VARIABLE) return
        const field = parent.getFields()[name.value]
        if (field === undefined) return
        stood.set(value.name.value, field)
        shapes.set(value.name.value, propertiesOf(shapeOf(parent.extensions))?.[field.name])
      },
    }),
  )
  return [...types]
    .filter(([name]) => name !== 'input')
    .map(([name, type]) => {
      const argument = stood.get(name)
      const { description, defaultValue, extensions = {} } = argument ?? {}
      const shape = shapeOf(extensions) ?? shapes.get(name)
      return { name, type, isRequired: isNonNullType(type), description, shape, default: defaultValue }
    })
}

/**
 * The schema of an input. If the operation has a check for it, null is allowed only if the check
 * accepts it.
 */
export function inputSchema(type: GraphQLInputType, components: Components, check?: Schema): Schema {
  const { shape, hasNull } = withoutNull(check ?? {})
  const schema = bareSchema(getNullableType(type), components, shape)
  const isNullable = !isNonNullType(type) && (hasNull || isSilent(check))
  return isNullable ? orNull(schema) : schema
}

const isSilent = (check: Schema | undefined): boolean =>
  check === undefined || Object.keys(check).every((keyword) => keyword === '$schema')

function bareSchema(type: GraphQLInputType, components: Components, shape: Schema): Schema {
  if (isListType(type)) {
    const items = inputSchema(type.ofType, components, shape.items as Schema | undefined)
    return { type: 'array', items, ...boundsOf(shape) }
  }
  if (isInputObjectType(type)) {
    const shapes = propertiesOf(shape)
    const fields = Object.values(type.getFields()).map((field) => ({ ...field, shape: shapes?.[field.name] }))
    const schema = objectSchema(
      fields.map((field) => ({ ...field, isRequired: isRequiredInputField(field) })),
      components,
    )
    return components.refTo(type.name, described(schema, type.description))
  }
  if (isNonNullType(type)) return bareSchema(type.ofType, components, shape)
  return { ...leafSchema(type, components), ...boundsOf(shape) }
}

/** An object with these fields and no others. */
export function objectSchema(
  fields: readonly Pick<Field, 'name' | 'type' | 'isRequired' | 'description' | 'shape'>[],
  components: Components,
): Schema {
  const properties = Object.fromEntries(
    fields.map(({ name, type, shape, description }) => [
      name,
      described(idSchema(name, inputSchema(type, components, shape)), description),
    ]),
  )
  const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  }
}

const propertiesOf = (shape: Schema | undefined): Record<string, Schema> | undefined => shape?.properties
