import type { z } from 'zod'
import { distance } from 'fastest-levenshtein'

import { environmentSchema } from './process.ts'

/** Settings are wrong or missing. `message` has a line for each, with its name. */
export class SettingsError extends Error {}

type Parsed = z.infer<typeof environmentSchema>

/** The settings of one process: parsed once, bounded, frozen. */
export type Settings = Readonly<
  Omit<Parsed, 'ADMIN_JWT_SECRET' | 'ENCRYPTION_KEY' | 'ENCRYPTION_KEYS'> & {
    ADMIN_JWT_SECRET: string
    ENCRYPTION_KEY: Buffer
    /** Keys from before a rotation, or for one to come: they open and verify, and seal nothing. */
    ENCRYPTION_KEYS: readonly Buffer[]
  }
>

/**
 * Describes a wrong setting. Zod's own messages speak of types, but the environment has only texts.
 */
function inWords(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `must be a ${issue.expected === 'int' ? 'whole number' : issue.expected}`
  if (issue.code === 'too_small') return within(issue.origin, `at least ${issue.minimum}`)
  if (issue.code === 'too_big') return within(issue.origin, `at most ${issue.maximum}`)
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`
  return issue.message
}

const within = (origin: string, bound: string): string =>
  origin === 'string' ? `must have ${bound} characters` : `must be ${bound}`

type Secrets = Pick<Settings, 'ADMIN_JWT_SECRET' | 'ENCRYPTION_KEY' | 'ENCRYPTION_KEYS'>

/** The secrets of the embedded form. */
type KeptSecrets = Omit<Secrets, 'ENCRYPTION_KEYS'> & Partial<Secrets>

/**
 * Reads the settings from the environment. Empty variables count as unset.
 * `embeddedSecrets` supplies the secrets where no DATABASE_URL is set and the environment has none.
 * Throws a SettingsError that names every wrong or missing setting.
 */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  embeddedSecrets: (dataDir: string) => KeptSecrets,
): Settings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const result = environmentSchema.safeParse(given)
  if (!result.success) {
    const wrong = new Map(result.error.issues.toReversed().map((issue) => [String(issue.path[0]), issue]))
    throw new SettingsError(
      [...wrong]
        .toReversed()
        .map(([name, issue]) => `${name}: ${inWords(issue)}`)
        .join('\n'),
    )
  }
  const parsed = result.data
  const mistakes = [...mistakesOfDatabase(given, parsed), ...missingSecrets(parsed), ...missingOfTls(parsed)]
  if (mistakes.length > 0) throw new SettingsError(mistakes.join('\n'))
  return Object.freeze({ ...parsed, ...secretsOf(parsed, embeddedSecrets) })
}

type Env = Readonly<Record<string, string | undefined>>

/** A line for each variable whose name is almost that of a setting. */
export const misspellings = (env: Env): string[] => findMisspellings(env).map(lineOf)

const findMisspellings = (env: Env): Misspelled[] =>
  findMisspelled(Object.keys(env), Object.keys(environmentSchema.shape))

const lineOf = ({ name, meant }: Misspelled): string => `${name}: there is no such setting: did you mean ${meant}?`

/** In production, a misspelt name must not start the service on an empty embedded database. */
function wrongInProduction(given: Env, { EMBEDDED, DATABASE_URL, NODE_ENV }: Parsed): string[] {
  if (EMBEDDED === true || NODE_ENV !== 'production') return []
  // If the similar setting is set as well, the variable may belong to another program.
  const wrong = findMisspellings(given).filter(({ meant }) => given[meant] === undefined)
  if (wrong.length > 0) return wrong.map(lineOf)
  const isMissing = DATABASE_URL === undefined && EMBEDDED === undefined
  return isMissing ? ['DATABASE_URL: is required with NODE_ENV=production, unless EMBEDDED=true is set'] : []
}

/** A line for each database setting that conflicts with another. */
function mistakesOfDatabase(given: Env, parsed: Parsed): string[] {
  const { EMBEDDED, DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_REPLICA_URL, DATABASE_POOLER, ROLE } = parsed
  const unless = (isRight: boolean, line: string): string[] => (isRight ? [] : [line])
  const production = wrongInProduction(given, parsed)
  if (DATABASE_URL !== undefined) {
    const why = 'migrations and the first start need a session of the server, which such a pooler does not give'
    return [
      ...unless(EMBEDDED !== true, 'EMBEDDED: must not be true with DATABASE_URL'),
      ...unless(
        DATABASE_POOLER !== 'transaction' || DATABASE_DIRECT_URL !== undefined,
        `DATABASE_DIRECT_URL: is required with DATABASE_POOLER=transaction: ${why}`,
      ),
      ...production,
    ]
  }
  if (production.length > 0) return production
  return [
    ...unless(EMBEDDED !== false, 'DATABASE_URL: is required with EMBEDDED=false'),
    ...unless(ROLE === 'all', `ROLE: ${ROLE} needs DATABASE_URL; the embedded database serves one process`),
    ...unless(DATABASE_DIRECT_URL === undefined, 'DATABASE_URL: is required with DATABASE_DIRECT_URL'),
    ...unless(DATABASE_REPLICA_URL === undefined, 'DATABASE_URL: is required with DATABASE_REPLICA_URL'),
  ]
}

/**
 * Secrets that must be set: the embedded form makes its own, but processes on a server must share
 * them.
 */
function missingSecrets(parsed: Parsed): string[] {
  if (parsed.DATABASE_URL === undefined) return []
  const makers = { ADMIN_JWT_SECRET: 'openssl rand -hex 32', ENCRYPTION_KEY: 'openssl rand -base64 32' }
  return (['ADMIN_JWT_SECRET', 'ENCRYPTION_KEY'] as const)
    .filter((name) => parsed[name] === undefined)
    .map((name) => `${name}: is required with DATABASE_URL: make it once, with \`${makers[name]}\`, and keep it`)
}

function missingOfTls(parsed: Parsed): string[] {
  const names = ['TLS_CERT_FILE', 'TLS_KEY_FILE'] as const
  const missing = names.filter((name) => parsed[name] === undefined)
  return missing.length === 1 ? [`${missing[0]}: TLS needs both TLS_CERT_FILE and TLS_KEY_FILE`] : []
}

function secretsOf(parsed: Parsed, embeddedSecrets: (dataDir: string) => KeptSecrets): Secrets {
  const { ADMIN_JWT_SECRET, ENCRYPTION_KEY, ENCRYPTION_KEYS: given } = parsed
  if (ADMIN_JWT_SECRET !== undefined && ENCRYPTION_KEY !== undefined) {
    return { ADMIN_JWT_SECRET, ENCRYPTION_KEY, ENCRYPTION_KEYS: without(given, ENCRYPTION_KEY) }
  }
  const kept = embeddedSecrets(parsed.DATA_DIR)
  const key = ENCRYPTION_KEY ?? kept.ENCRYPTION_KEY
  return {
    ADMIN_JWT_SECRET: ADMIN_JWT_SECRET ?? kept.ADMIN_JWT_SECRET,
    ENCRYPTION_KEY: key,
    ENCRYPTION_KEYS: without([...given, ...(kept.ENCRYPTION_KEYS ?? [])], key),
  }
}

const without = (keys: readonly Buffer[], key: Buffer): Buffer[] => keys.filter((each) => !each.equals(key))

/** Whether browsers find GraphiQL at `/graphql`. */
export const hasGraphiQL = ({ GRAPHIQL, NODE_ENV }: Settings): boolean => GRAPHIQL ?? NODE_ENV !== 'production'

/** Whether a caller may ask for the schema. */
export const hasIntrospection = (settings: Settings): boolean => settings.GRAPHQL_INTROSPECTION ?? hasGraphiQL(settings)

/** An environment variable whose name is almost that of a setting. */
interface Misspelled {
  name: string
  /** The setting. */
  meant: string
}

/** The greatest edit distance of a misspelling. Short names have too many neighbours. */
const maxDistance = ({ length }: string): number => (length < 5 ? 0 : length < 8 ? 1 : 2)

/** For long names, a name in lower case also counts. */
const distanceTo = (known: string, name: string): number =>
  distance(known.length < 8 ? name : name.toUpperCase(), known)

/** Variables that are not in `known`, but almost. */
function findMisspelled(names: readonly string[], known: readonly string[]): Misspelled[] {
  return names.flatMap((name) => {
    if (known.includes(name)) return []
    const [nearest] = known
      .map((meant) => ({ name, meant, by: distanceTo(meant, name) }))
      .filter(({ meant, by }) => by <= maxDistance(meant))
      .sort((a, b) => a.by - b.by)
    return nearest === undefined ? [] : [{ name, meant: nearest.meant }]
  })
}
