import { parseArgs } from 'node:util'

import { SignJWT } from 'jose'
import { z } from 'zod'

import { openApp } from './app.ts'
import { type App, CAPABILITIES } from './core/context.ts'
import { ServiceError } from './core/errors.ts'
import { createLog } from './core/log.ts'
import { readSettings, SettingsError } from './core/settings.ts'
import { embeddedSecrets } from './data/secrets.ts'
import { mintKey } from './domains/keys/keys.ts'
import { kidOf } from './domains/readers/identity-secrets.ts'
import { createAdmin, createTenant, TakenError } from './domains/tenants/bootstrap.ts'
import { findTenantBySlug, listTenants, type TenantRow } from './domains/tenants/sql.ts'

const USAGE = `Usage: npm run cli -- <command>

  tenant create --slug <slug> [--admin-email <e-mail>] [--admin-password <password>]
  tenant list
  admin create --tenant <slug> --email <e-mail> [--password <password>]
  key create --tenant <slug> --label <label> [--capabilities <name,name>] [--expires-at <time>]   (none unless named)
  identity sign --tenant <slug> --secret <identity secret> --sub <reader's id> [--name <name>]

Answers are JSON on standard output. Secrets are shown only there, and only once.
The last one needs no database. It prints an assertion that vouches for a reader for an hour, to try the API by hand.
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

async function main([noun = '', verb = '', ...args]: string[]): Promise<void> {
  const name = `${noun} ${verb}`
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
