import { availableParallelism } from 'node:os'

import ipaddr from 'ipaddr.js'
import { z } from 'zod'

import { databaseHosts } from './database-url.ts'
import { findMisspelled, type Misspelled } from './misspelled.ts'
import { meansSentinels, sentinelsOf } from './redis-url.ts'

/** Settings are wrong or missing. `message` has a line for each, with its name. */
export class SettingsError extends Error {}

const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
const port = z.coerce.number().int().min(0).max(65_535)
const path = z.string().min(1)
const seconds = z.coerce.number().min(0.1).max(3600)

/**
 * A secret of HS256: its text's bytes are the key, of 32 bytes at least (RFC 7518, section 3.2).
 */
export const identitySecretSchema = z.string().min(32, 'must have at least 32 characters')

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
)

const isRedisUrl = (url: string): boolean => URL.canParse(url) && /^rediss?:\/\//.test(url)

const rawKey = /^ek_[0-9a-f]{64}$/

const encryptionKey = z.base64('must be 32 bytes in base64').transform((text, ctx) => {
  const key = Buffer.from(text, 'base64')
  if (key.length !== 32) ctx.addIssue({ code: 'custom', message: 'must be 32 bytes in base64' })
  return key
})

const cidrs = list.pipe(z.array(z.string().refine((text) => ipaddr.isValidCIDR(text), 'must be a list of CIDR ranges')))

const ports = list.pipe(
  z
    .array(z.string().regex(/^\d{1,5}(-\d{1,5})?$/, 'must be a list of ports and ranges of them, as 443,1024-65535'))
    .min(1)
    .transform((parts) => parts.map((part) => part.split('-').map(Number)))
    .transform((parts) => parts.map(([from = 0, to = from]): readonly [from: number, to: number] => [from, to])),
)

const databaseUrl = z
  .string()
  .refine(
    (url) => databaseHosts(url) !== null,
    'must be a URL as postgres://user:password@host:5432/name, or with several hosts as postgres://one:5432,two:5432/name; target_session_attrs may be read-write, primary or any',
  )

/** All settings of the process, by environment variable. One line a setting. */
export const environmentSchema = z.object({
  ROLE: z.enum(['all', 'api', 'worker']).default('all'),
  WORKERS: z
    .string()
    .regex(/^(auto|[1-9]\d?)$/, 'must be auto, or a number from 1 to 99')
    .transform((text) => (text === 'auto' ? availableParallelism() : Number(text)))
    .default(1),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: port.default(4000),
  WORKER_PORT: port.optional(),
  METRICS_PORT: port.optional(),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,}$/, 'must have at least 16 characters of visible ASCII')
    .optional(),
  BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  NODE_ENV: z.string().default('development'),

  EMBEDDED: flag.optional(),
  DATA_DIR: path.default('.data'),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOLER: z.enum(['none', 'transaction']).default('none'),
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  DATABASE_PREPARED_STATEMENTS: flag.optional(),
  DATABASE_REPLICA_URL: z
    .string()
    .refine((url) => databaseHosts(url)?.length === 1, 'must be a URL of one server, as postgres://one:5432/name')
    .optional(),
  DATABASE_REPLICA_MAX_LAG_SECONDS: seconds.default(10),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(200).default(16),
  DATABASE_CONNECT_TIMEOUT_SECONDS: seconds.default(3),
  DATABASE_POOL_TIMEOUT_SECONDS: seconds.default(5),
  DATABASE_STATEMENT_TIMEOUT_SECONDS: seconds.default(10),
  DATABASE_LOCK_PATIENCE_SECONDS: z.coerce.number().min(0.1).max(25).default(5),
  REDIS_URL: z
    .string()
    .transform((text) => (meansSentinels(text) ? [text] : text.split(',').map((url) => url.trim())))
    .pipe(
      z.array(
        z
          .string()
          .refine(
            (url) => (meansSentinels(url) ? sentinelsOf(url) !== null : isRedisUrl(url)),
            'must be a redis:// or rediss:// URL, several of them, or redis+sentinel://host:port,host:port/name',
          ),
      ),
    )
    .optional(),
  REDIS_PREFIX: z.string().min(1).max(100).default('engagement:'),

  ADMIN_JWT_SECRET: z.string().min(32, 'must have at least 32 characters').optional(),
  ENCRYPTION_KEY: encryptionKey.optional(),
  ENCRYPTION_KEYS: list
    .pipe(z.array(encryptionKey))
    .refine((keys) => keys.length <= 10, 'must be at most 10 keys')
    .default([]),
  TLS_CERT_FILE: path.optional(),
  TLS_KEY_FILE: path.optional(),

  HEADERS_TIMEOUT_SECONDS: seconds.default(15),
  REQUEST_TIMEOUT_SECONDS: seconds.default(30),
  RESPONSE_TIMEOUT_SECONDS: seconds.default(300),
  MAX_CONNECTIONS: z.coerce.number().int().min(1).max(1_000_000).default(10_000),
  MAX_CONNECTIONS_PER_ADDRESS: z.coerce.number().int().min(1).max(1_000_000).default(1000),

  HEADER_PREFIX: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*-$/, 'must be letters, digits and hyphens, ending in a hyphen')
    .default('X-Service-'),
  GRAPHIQL: flag.optional(),
  GRAPHQL_INTROSPECTION: flag.optional(),

  PAGE_CACHE_MB: z.coerce.number().int().min(0).max(65_536).default(64),

  STREAM_TOKEN_ENABLED: flag.default(true),
  STREAM_TOKEN_SUNSET: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), 'must be a date')
    .transform((text) => new Date(text))
    .default(new Date('2027-06-30T00:00:00Z')),
  STREAM_HEARTBEAT_SECONDS: z.coerce.number().min(0.1).max(60).default(15),
  STREAM_REPAIR_SECONDS: z.coerce.number().min(0.1).max(5).default(2),
  STREAM_MAX_PAUSE_MS: z.coerce.number().int().min(5).max(1000).default(50),
  STREAM_MAX_PER_PROCESS: z.coerce.number().int().min(1).max(1_000_000).default(20_000),

  TRUSTED_PROXIES: cidrs.default([]),
  UNAUTHENTICATED_RATE_PER_SECOND: z.coerce.number().min(0).max(100_000).default(20),
  UNAUTHENTICATED_RATE_BURST: z.coerce.number().int().min(1).max(1_000_000).default(200),
  WEBHOOK_ALLOWED_CIDRS: cidrs.default([]),
  WEBHOOK_ALLOW_HTTP: flag.default(false),
  WEBHOOK_ALLOWED_PORTS: ports.default([
    [443, 443],
    [1024, 65_535],
  ]),
  WEBHOOK_CA_FILE: path.optional(),
  WEBHOOK_POLL_SECONDS: z.coerce.number().min(0.05).max(60).default(1),

  SHUTDOWN_GRACE_SECONDS: z.coerce.number().min(0).max(300).default(10),
  DRAIN_SECONDS: z.coerce.number().min(0).max(150).default(5),

  BOOTSTRAP_TENANT: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens')
    .default('demo'),
  BOOTSTRAP_API_KEY: z.string().regex(rawKey, 'must be ek_ and 64 lower-case hex characters').optional(),
  BOOTSTRAP_IDENTITY_SECRET: identitySecretSchema.optional(),
  BOOTSTRAP_ADMIN_EMAIL: z.email('must be an e-mail address').default('admin@example.com'),
  BOOTSTRAP_ADMIN_PASSWORD: z.string().min(8).optional(),
})

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
