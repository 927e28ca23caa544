import { getNamedType, type GraphQLEnumType, isEnumType, isInterfaceType, isObjectType } from 'graphql'
import { expect, test } from 'vitest'

import { schema } from '../../src/api/execution/schema.ts'

/**
 * Enums whose values this release decides, or has read with its own schema, before they are shown.
 */
const OWN = [
  'AnalyticsInterval',
  'Capability',
  'ClassifierFallback',
  'ErasureMode',
  'GuestMailerState',
  'ImportState',
  'ImportUploadState',
  'KeySetState',
  'MemberState',
  'ModerationMode',
  'NotificationChoice',
  'TenantExportState',
  'TimelineKind',
  'TrialOutcome',
  'WebhookCircuit',
]
/** EventType has no value for an unknown type: the list is fixed (docs/reference/events.md). */
const CLOSED = ['EventType']

const shown = new Set(
  Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) || isInterfaceType(type))
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap((type) => Object.values(type.getFields()).map((field) => getNamedType(field.type)))
    .filter((type): type is GraphQLEnumType => isEnumType(type)),
)
const stored = [...shown].filter(({ name }) => ![...OWN, ...CLOSED].includes(name))

test.each(stored.map((type) => [type.name, type] as const))(
  '%s answers a known value for an unknown one',
  (_name, type) => {
    const names = type.getValues().map(({ name }) => name)
    expect(names).toContain(type.serialize('from_the_future'))
    for (const { name, value } of type.getValues()) expect(type.serialize(value)).toBe(name)
  },
)

test.each(stored.map((type) => [type.name, type] as const))('%s refuses an unknown value in input', (_name, type) => {
  expect(() => type.parseValue('from_the_future') as unknown).toThrow(/from_the_future/)
})
