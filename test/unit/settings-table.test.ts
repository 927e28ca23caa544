import { GraphQLBoolean, GraphQLInputObjectType, GraphQLSchema } from 'graphql'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { readStored } from '../../src/core/stored.ts'
import { tenantSettings, tenantSettingsSchema } from '../../src/core/settings/tenant.ts'
import { schema } from '../../src/api/execution/schema.ts'
import { type SettingField, settingsTable } from '../../src/api/reference/pages/settings.ts'
import { patchStored } from '../../src/domains/settings/merge.ts'
import { inputFields, outputFields } from '../../src/graphql/checked.ts'
import { shapedBy } from '../../src/graphql/shape.ts'

const { groups, fields } = settingsTable(schema)
const field = (path: string): SettingField => {
  const found = fields.find((each) => each.path === path)
  if (found === undefined) throw new Error(`there is no ${path}`)
  return found
}

/** The value at a path. */
const at = (path: string, value: unknown): unknown =>
  path.split('.').reduce((of, name) => (of as Record<string, unknown> | null)?.[name] ?? null, value)

/** What a single sign-on needs. */
const OIDC = { issuer: 'https://a.example', clientId: 'id', clientSecret: 'secret', emailDomains: ['a.example'] }

/** An object with one value at a path. */
const put = (path: string, value: unknown): object =>
  path.split('.').reduceRight((inner, name) => ({ [name]: inner }), value) as object

test('has every setting once, with its default', () => {
  const pathsIn = (of: object, before = ''): string[] =>
    Object.entries(of).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && name !== 'roles'
        ? pathsIn(value, `${before}${name}.`)
        : [`${before}${name}`],
    )
  const defaults = tenantSettings({ classifier: {}, staff: { oidc: OIDC } })
  expect(fields.map(({ path }) => path).toSorted()).toEqual(pathsIn(defaults).toSorted())
  const isRequired = (path: string): boolean => path.split('staff.oidc.').some((name) => Object.hasOwn(OIDC, name))
  for (const { path, default: value } of fields)
    expect(value, path).toEqual(isRequired(path) ? null : at(path, defaults))
  expect(field('classifier.fallback').default).toBe('hold')
})

test("a number's bound is that of the operation: the bound itself is accepted, one beyond is refused", () => {
  const numbers = fields.filter(({ type }) => type === 'integer')
  expect(numbers.length).toBeGreaterThan(20)
  for (const { path, bounds } of numbers) {
    const { minimum, maximum } = bounds as { minimum: number; maximum: number }
    const takes = (value: number): boolean => {
      // Of the policy two go together.
      const other = path === 'webhookPolicy.breakerThreshold' ? { disableThreshold: 1000 } : {}
      const patch = path === 'webhookPolicy.disableThreshold' ? { breakerThreshold: 1 } : other
      const given = put(path, value) as { webhookPolicy?: object }
      const whole = path.startsWith('webhookPolicy.') ? { webhookPolicy: { ...patch, ...given.webhookPolicy } } : given
      return tenantSettingsSchema.safeParse(whole).success
    }
    expect([minimum - 1, minimum, maximum, maximum + 1].map(takes), path).toEqual([false, true, true, false])
  }
})

test('null is allowed if the operation accepts it', () => {
  for (const { path, group, isNullable } of fields.filter((each) => each.group !== 'identity')) {
    const given =
      group === 'staff.oidc' ? { staff: { oidc: { ...OIDC, [path.split('.').at(-1) ?? '']: null } } } : put(path, null)
    expect(tenantSettingsSchema.safeParse(given).success, path).toBe(isNullable)
    expect(groups.map(({ name }) => name).concat('')).toContain(group ?? '')
  }
  expect(groups.filter(({ isNullable }) => isNullable).map(({ name }) => name)).toEqual(['staff.oidc', 'classifier'])
})

test('every setting has what a form needs', () => {
  expect(field('stream.replayHours')).toEqual({
    path: 'stream.replayHours',
    group: 'stream',
    type: 'integer',
    isNullable: false,
    default: 24,
    unit: 'hours',
    description: 'Hours that an event can be replayed. From 1 to 720.',
    meaning: 'Hours that an event can be replayed.',
    values: null,
    bounds: { minimum: 1, maximum: 720 },
    itemBounds: null,
    items: null,
  })
  expect(field('reactionTypes')).toMatchObject({
    type: 'texts',
    bounds: { minItems: 1, maxItems: 32 },
    itemBounds: { pattern: expect.any(String) },
  })
  expect(field('badges')).toMatchObject({
    type: 'objects',
    bounds: { maxItems: 20 },
    items: [
      { path: 'id', type: 'text', default: null },
      { path: 'label', type: 'text', bounds: { maxLength: 40 } },
      { path: 'tone', type: 'choice', default: 'neutral' },
    ],
  })
  expect(field('moderationMode').values).toEqual([
    { value: 'none', description: 'Only comments that a rule holds wait for a moderator.' },
    { value: 'pre', description: 'Every comment waits for a moderator.' },
    expect.objectContaining({ value: 'post' }),
  ])
  expect(field('identity.jwksUrl')).toMatchObject({ type: 'text', isNullable: true, bounds: { format: 'uri' } })
  for (const { description } of [...fields, ...groups]) expect(description).toMatch(/\S/)
})

test('a setting may be a switch', () => {
  const shape = { isLoud: z.boolean().default(false).describe('Whether it is loud.') }
  const made = (options: object) => options as never
  const [input, output] = [inputFields({ field: made } as never, shape), outputFields({ field: made } as never, shape)]
  expect(input.isLoud).toEqual({ type: 'Boolean', description: 'Whether it is loud.', required: false })
  expect(output.isLoud).toMatchObject({ type: 'Boolean', nullable: false })
  const madeUp = new GraphQLSchema({
    types: [
      new GraphQLInputObjectType({
        name: 'UpdateSettingsInput',
        fields: { isLoud: { type: GraphQLBoolean, description: 'Whether it is loud.' } },
        extensions: shapedBy(z.strictObject(shape)),
      }),
    ],
  })
  expect(settingsTable(madeUp).fields).toMatchObject([
    { path: 'isLoud', type: 'switch', isNullable: false, meaning: 'Whether it is loud.', bounds: {}, values: null },
  ])
  expect(readStored(z.strictObject(shape), { isLoud: 'yes' })).toEqual({ isLoud: false })
  expect(patchStored({}, { isLoud: true }, { isLoud: true }, { isLoud: false })).toEqual({ isLoud: true })
  expect(patchStored({ isLoud: true }, { isLoud: false }, { isLoud: false }, { isLoud: false })).toEqual({})
})

test('bounds are only in the schema, and are added to the texts of GraphQL and the form', () => {
  for (const { path, meaning, description, bounds } of fields) {
    expect(meaning, path).not.toMatch(/\d[\d ]* to \d|at most \d/)
    const most = bounds.maximum ?? bounds.maxItems
    if (most === undefined) expect(description, path).toBe(meaning)
    else expect(description.replaceAll(' ', ''), path).toContain(JSON.stringify(most))
  }
  expect(field('bannedWords').description).toMatch(/\. At most 1 000 entries\.$/)
  expect(field('reactionTypes').description).toMatch(/\. From 1 to 32 entries\.$/)
})
