import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { SignJWT } from 'jose'
import { z } from 'zod'

import { openApp } from './app.ts'
import { type App, CAPABILITIES } from './core/context.ts'
import { ServiceError } from './core/errors.ts'
import { createLog } from './core/log.ts'
import { readSettings, SettingsError } from './core/settings.ts'
import { embeddedSecrets } from './data/secrets.ts'
import { examine } from './doctor.ts'
import { mintKey, revokeKeyOf } from './domains/keys/keys.ts'
import { type ApiKey, listKeys } from './domains/keys/sql.ts'
import { kidOf, replaceIdentitySecret } from './domains/readers/identity-secrets.ts'
import { createAdmin, createTenant, TakenError } from './domains/tenants/bootstrap.ts'
import { findTenantBySlug, listAdmins, listTenants, type TenantRow } from './domains/tenants/sql.ts'

const USAGE = `Usage: npm run cli -- <command>

  tenant create --slug <slug> [--admin-email <e-mail>] [--admin-password <password>]
  tenant list
  admin create --tenant <slug> --email <e-mail> [--password <password>]
  admin list [--tenant <slug>]
  key create --tenant <slug> --label <label> [--capabilities <name,name>] [--expires-at <time>]   (none unless named)
  key list --tenant <slug>
  key revoke --tenant <slug> --id <id>
  identity-secret create --tenant <slug>   (the one before stays valid for 24 h)
  identity sign --tenant <slug> --secret <identity secret> --sub <reader's id> [--name <name>]
  doctor

Answers are JSON on standard output. Secrets are shown only there, and only once.
identity sign needs no database: it prints an assertion that vouches for a reader for an hour, to try the API by hand.
doctor changes nothing: it prints a line for each part of the deployment, and ends with 1 where one of them fails.
Capabilities: ${CAPABILITIES.join(', ')}.`

/** The command line itself is wrong: the usage is shown, and the exit status is 2. */
class UsageError extends Error {}

/** The command is right, but cannot be done: one line, and exit status 1. */
class RefusedError extends Error {}

const email = z.email('must be an e-mail address')
const password = z.string().min(8, 'must have at least 8 characters')

const COMMANDS = {
  'tenant create': command(
    {
      slug: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens'),
      'admin-email': email.optional(),
      'admin-password': password.optional(),
    },
    (app, { slug, ...admin }) =>
      createTenant(app, { slug, adminEmail: admin['admin-email'], adminPassword: admin['admin-password'] }),
  ),
  'tenant list': command({}, (app) => listTenants(app.db.query)),
  'admin create': command({ tenant: z.string(), email, password: password.optional() }, async (app, options) => {
    const { id, slug } = await tenantOf(app, options.tenant)
    return { tenant: { id, slug }, admin: await createAdmin(app, id, options.email, options.password) }
  }),
  'admin list': command({ tenant: z.string().optional() }, async (app, { tenant }) =>
    listAdmins(app.db.query, tenant === undefined ? null : (await tenantOf(app, tenant)).id),
  ),
  'key list': command({ tenant: z.string() }, async (app, { tenant }) =>
    allKeys(app, (await tenantOf(app, tenant)).id),
  ),
  'key revoke': command({ tenant: z.string(), id: z.string() }, async (app, { tenant, id }) =>
    revokeKeyOf(app, (await tenantOf(app, tenant)).id, id),
  ),
  'identity-secret create': command({ tenant: z.string() }, async (app, { tenant }) =>
    replaceIdentitySecret(app, (await tenantOf(app, tenant)).id),
  ),
  doctor: offline({}, async () => {
    const findings = await examine(process.env)
    if (findings.some(({ level }) => level === 'fail')) process.exitCode = 1
    return findings.map(({ level, part, text }) => `${level.padEnd(5)} ${part.padEnd(10)} ${text}`).join('\n')
  }),
  'key create': command(
    {
      tenant: z.string(),
      label: z.string().min(1).max(100),
      capabilities: z
        .string()
        .transform((text) => [...new Set(text.split(',').filter((name) => name !== ''))])
        .pipe(z.array(z.enum(CAPABILITIES, 'must be names of capabilities, separated by commas')))
        .default([]),
      'expires-at': z.iso
        .datetime({ offset: true, error: 'must be an RFC 3339 date and time' })
        .transform((text) => new Date(text))
        .refine((date) => date.getTime() > Date.now(), 'must be in the future')
        .optional(),
    },
    async (app, { label, capabilities, ...options }) => {
      const { id, slug } = await tenantOf(app, options.tenant)
      const key = { label, capabilities, expiresAt: options['expires-at'] ?? null }
      const { apiKey, key: rawKey } = await app.db.transaction((sql) => mintKey(sql, id, key))
      return { tenant: { id, slug }, ...apiKey, key: rawKey }
    },
  ),
  'identity sign': offline(
    { tenant: z.string(), secret: z.string(), sub: z.string().min(1).max(255), name: z.string().optional() },
    ({ tenant, secret, sub, name }) =>
      new SignJWT(name === undefined ? {} : { name })
        .setProtectedHeader({ alg: 'HS256', kid: kidOf(secret) })
        .setSubject(sub)
        .setAudience(tenant)
        .setIssuedAt()
        .setExpirationTime('1 h')
        .sign(new TextEncoder().encode(secret)),
  ),
}

/** What a command prints, made when it is run. */
type Command = (args: string[]) => () => Promise<string>

/** A command that takes these options: read before the database is opened, run after. */
function command<Shape extends z.ZodRawShape>(
  shape: Shape,
  run: (app: App, options: z.output<z.ZodObject<Shape>>) => Promise<unknown>,
): Command {
  return offline(shape, async (options) => {
    const { app, close } = await openApp(readSettings(process.env, embeddedSecrets), createLog('silent'))
    try {
      await busIsUp(app)
      return JSON.stringify(await run(app, options), null, 2)
    } finally {
      await close()
    }
  })
}

/** A command that needs no database. */
function offline<Shape extends z.ZodRawShape>(
  shape: Shape,
  run: (options: z.output<z.ZodObject<Shape>>) => Promise<string>,
): Command {
  const schema = z.object(shape)
  return (args) => {
    const options = schema.safeParse(readOptions(Object.keys(shape), args))
    if (options.success) return () => run(options.data)
    const issue = options.error.issues[0]
    const isMissing = issue?.code === 'invalid_type' && issue.input === undefined
    throw new UsageError(`--${String(issue?.path[0])} ${isMissing ? 'is required' : issue?.message}`)
  }
}

/** Gives the bus a moment, so that other processes hear of a change at once; without it they learn of it within 5 s. */
async function busIsUp({ bus }: App): Promise<void> {
  for (let waitedMs = 0; waitedMs < 1000 && !bus.isUp(); waitedMs += 20) await setTimeout(20)
}

async function allKeys(app: App, tenantId: string): Promise<ApiKey[]> {
  const keys: ApiKey[] = []
  for (;;) {
    const page = await listKeys(app.db.query, tenantId, keys.at(-1)?.id ?? null, 1000)
    if (page.length === 0) return keys
    keys.push(...page)
  }
}

function readOptions(names: string[], args: string[]): Record<string, unknown> {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  try {
    return parseArgs({ args, options, allowPositionals: false }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'the options are wrong')
  }
}

async function tenantOf(app: App, slug: string): Promise<TenantRow> {
  const tenant = await findTenantBySlug(app.db.query, slug)
  if (tenant === undefined) throw new RefusedError(`there is no tenant ${slug}`)
  return tenant
}

async function main(words: string[]): Promise<void> {
  const [noun = '', verb = ''] = words
  // Only one command is a single word.
  const name = noun === 'doctor' ? noun : `${noun} ${verb}`
  const args = words.slice(name.split(' ').length)
  if (!Object.hasOwn(COMMANDS, name))
    throw new UsageError(noun === '' ? 'a command is missing' : `there is no command ${name.trim()}`)
  console.log(await COMMANDS[name as keyof typeof COMMANDS](args)())
}

const isExpected = (error: unknown): error is Error =>
  [SettingsError, RefusedError, TakenError, ServiceError].some((kind) => error instanceof kind)

/** One line. A failed connection to several addresses is an error without words of its own. */
function reasonOf(error: unknown): string {
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error
  return (inner instanceof Error ? inner.message : String(inner)).split('\n')[0] ?? ''
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${USAGE}`)
    process.exitCode = 2
    return
  }
  console.error(isExpected(error) ? error.message : `The command failed: ${reasonOf(error)}`)
  process.exitCode = 1
})

// The migration engine leaves a timer of 10 s behind, for which nobody should wait. What is printed goes out first.
process.stdout.write('', () => process.stderr.write('', () => process.exit()))
