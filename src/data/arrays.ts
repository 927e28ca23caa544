import type { Param, Value } from '../core/database/statements.ts'

const ID_BYTES = 16

/** The types whose arrays are sent in binary form, by their names in a statement. */
const TYPES = {
  uuid: { oid: 2950, bytesOf: () => ID_BYTES, write: writeId },
  text: { oid: 25, bytesOf: (text: string) => Buffer.byteLength(text), write: writeText },
} as const

type Type = keyof typeof TYPES

/** Number of dimensions, null flag, type; then length and lower bound of the one dimension. */
const HEAD_BYTES = 20

export type ArrayEncoder = (params: readonly Param[]) => readonly unknown[]

/**
 * Encodes the parameters of a statement for the driver: arrays of ids and texts in PostgreSQL's
 * binary form, by the types that the statement names (`$1::uuid[]`). Other arrays are sent as text,
 * in which quotes and backslashes are escaped here and parsed one by one there; JSON is full of
 * them.
 */
export function arrayEncoder(text: string): ArrayEncoder {
  const types = arrayTypes(text)
  return (params) =>
    params.map((param, place) => {
      if (!Array.isArray(param)) return param
      const type = types.get(place)
      return (type === undefined ? null : encodeArray(type, param)) ?? arrayText(param)
    })
}

/** An array in PostgreSQL's text form. The driver's own encoding takes several times as long. */
const arrayText = (values: readonly Value[]): string => `{${values.map(elementText).join()}}`

function elementText(value: Value): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return `"${/["\\]/.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`
  // PostgreSQL refuses an invalid time like any other wrong value.
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : value.toISOString()
  return value instanceof Uint8Array ? `"\\\\x${Buffer.from(value).toString('hex')}"` : String(value)
}

/**
 * The array types of a statement's parameters, by their positions. None for a parameter that is
 * cast to two types: only PostgreSQL knows which one it has.
 */
export function arrayTypes(text: string): ReadonlyMap<number, Type> {
  const casts = new Map<number, Set<string>>()
  for (const [, n, type = ''] of text.matchAll(/\$(\d+)::(\w+(?:\[\])?)/g)) {
    const place = Number(n) - 1
    casts.set(place, (casts.get(place) ?? new Set()).add(type))
  }
  const types = new Map<number, Type>()
  for (const [place, names] of casts) {
    for (const type of ['uuid', 'text'] as const) if (names.size === 1 && names.has(`${type}[]`)) types.set(place, type)
  }
  return types
}

/** Null for an empty list and for values that PostgreSQL would refuse: these are sent as text. */
function encodeArray(name: Type, values: readonly unknown[]): Buffer | null {
  const { oid, bytesOf, write } = TYPES[name]
  let size = HEAD_BYTES
  for (const value of values) {
    if (typeof value === 'string') size += 4 + bytesOf(value)
    else if (value === null) size += 4
    else return null
  }
  if (values.length === 0) return null
  const bytes = Buffer.allocUnsafe(size)
  let hasNulls = 0
  let at = HEAD_BYTES
  for (const value of values as readonly (string | null)[]) {
    const length = value === null ? -1 : write(bytes, at + 4, value)
    if (length === null) return null
    bytes.writeInt32BE(length, at)
    if (length < 0) hasNulls = 1
    at += 4 + Math.max(0, length)
  }
  for (const [place, field] of [1, hasNulls, oid, values.length, 1].entries()) bytes.writeInt32BE(field, place * 4)
  return bytes
}

/** Writes a text, and returns its length in bytes. */
function writeText(into: Buffer, at: number, text: string): number {
  return into.write(text, at)
}

/** The value of a hexadecimal digit, by its character code; -1 for any other character. */
const DIGITS = Int8Array.from({ length: 128 }, (_, code) => '0123456789abcdef'.indexOf(String.fromCharCode(code)))

/** Null for a text that is not an id in the form of this service. */
function writeId(into: Buffer, at: number, id: string): number | null {
  if (id.length !== 36 || id[8] !== '-' || id[13] !== '-' || id[18] !== '-' || id[23] !== '-') return null
  let digits = 0
  for (let byte = 0, place = 0; byte < ID_BYTES; byte++, place += 2) {
    if (id[place] === '-') place++
    const high = DIGITS[id.charCodeAt(place)] ?? -1
    const low = DIGITS[id.charCodeAt(place + 1)] ?? -1
    digits |= high | low
    into[at + byte] = (high << 4) | low
  }
  return digits < 0 ? null : ID_BYTES
}
