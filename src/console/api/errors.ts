/** One member of `errors` in a problem document of the service (docs/reference/errors.md). */
export interface InvalidField {
  pointer: string
  code: string
  message: string
}

/** A tenant to choose. */
export interface Choice {
  slug: string
  name: string
}

/** A refusal of the service, with its code. */
export class ApiError extends Error {
  readonly code: string
  readonly fields: readonly InvalidField[]
  readonly tenants: readonly Choice[]
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null

  constructor(
    code: string,
    message: string,
    about: {
      fields?: readonly InvalidField[]
      tenants?: readonly Choice[]
      requestId?: string | null
      retryAfterSeconds?: number | null
    } = {},
  ) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.fields = about.fields ?? []
    this.tenants = about.tenants ?? []
    this.requestId = about.requestId ?? null
    this.retryAfterSeconds = about.retryAfterSeconds ?? null
  }
}

/** The requested thing does not exist, or no longer does. */
export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.code === 'not_found'

/** The sign-in has ended, or its tenant is suspended: the member signs in again, or elsewhere. */
export const isExpiry = (error: unknown): boolean =>
  error instanceof ApiError && ['invalid_admin_token', 'missing_credentials', 'tenant_suspended'].includes(error.code)

/** The labels of a form's fields, by their paths in the API: `policy.timeoutMs`. */
export type Labels = Readonly<Record<string, string>>

/** One sentence that explains an error to a person. */
export function wordsOf(error: unknown): string {
  if (error instanceof ApiError) return error.fields.length === 0 ? error.message : sentencesOf(error.fields)
  if (error instanceof TypeError) return 'The service cannot be reached. Check your connection and try again.'
  return error instanceof Error ? error.message : String(error)
}

/**
 * A refusal's messages for the fields of a form, and one for the rest: null if the fields have all
 * of it.
 */
export function refusalOf(error: unknown, labels: Labels): { fields: Record<string, string>; rest: unknown } {
  if (!(error instanceof ApiError) || error.fields.length === 0) return { fields: {}, rest: error }
  const { code, requestId } = error
  const ofField = new Map<string, InvalidField[]>()
  const others: InvalidField[] = []
  for (const invalid of error.fields) {
    const field = fieldOf(partsOf(invalid), labels)
    if (field === null) others.push(invalid)
    else ofField.set(field, [...(ofField.get(field) ?? []), invalid])
  }
  return {
    fields: Object.fromEntries([...ofField].map(([field, some]) => [field, sentencesOf(some, labels)])),
    rest: others.length === 0 ? null : new ApiError(code, sentencesOf(others, labels), { requestId }),
  }
}

/** `/policy/timeoutMs` becomes `policy`, `timeoutMs` (RFC 6901). */
const partsOf = ({ pointer }: InvalidField): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The field at this path, or the one around it: for the third word of a list, the list. */
function fieldOf(parts: readonly string[], labels: Labels): string | null {
  for (let length = parts.length; length > 0; length--) {
    const path = parts.slice(0, length).join('.')
    if (Object.hasOwn(labels, path)) return path
  }
  return null
}

const sentencesOf = (fields: readonly InvalidField[], labels: Labels = {}): string =>
  fields.map((field) => sentenceOf(field, labels)).join(' ')

function sentenceOf(field: InvalidField, labels: Labels): string {
  const parts = partsOf(field)
  // A message may name another setting, which is replaced by its label.
  const said = field.message.replaceAll(/\b[a-z]+(?:[A-Z][a-z]*)+\b/g, (name) => {
    const path = [...parts.slice(0, -1), name].join('.')
    return Object.hasOwn(labels, path) ? `“${labels[path]}”` : wordsIn(name)
  })
  // A message about the whole request may be a sentence already.
  const sentence = /^[a-z]/.test(said) ? `${subjectOf(parts, labels)} ${said}` : said
  return sentence.endsWith('.') ? sentence : `${sentence}.`
}

/** The label of a field, and what is below it; without a label, the words of each name. */
export function namesOf(parts: readonly string[], labels: Labels): string[] {
  const field = fieldOf(parts, labels)
  return field === null ? parts.map(wordsIn) : [labels[field] ?? '', ...parts.slice(field.split('.').length)]
}

/** The subject of the message: its label, else the words of its name. */
function subjectOf(parts: readonly string[], labels: Labels): string {
  const names = namesOf(parts, labels)
  if (names.length === 0) return 'The request'
  const words = names.map((name) => (/^\d+$/.test(name) ? `number ${Number(name) + 1}` : name)).join(', ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${names.length > 1 ? ',' : ''}`
}

/** `expiresAt` becomes "expires at". */
const wordsIn = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
