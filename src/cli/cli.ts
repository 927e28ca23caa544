import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { z } from 'zod'
import { defineCommand, readCommandLine, UsageError } from './command-line.ts'
import { byService, recorderOf } from '../core/audit.ts'
import { CAPABILITIES } from '../core/capabilities.ts'
import { ServiceError } from '../core/errors.ts'
import { reachOf } from '../core/input/validate.ts'
import { ROOT } from '../core/process/root.ts'
import { identitySecretSchema } from '../core/settings/values.ts'
import { SettingsError } from '../core/settings/settings.ts'
import { atMost } from '../core/input/texts.ts'
import { failOnUncaught } from '../core/process/uncaught.ts'
import { keyIdOf } from '../core/secrets/seals.ts'
import { embeddedSecrets, replaceEncryptionKey } from '../data/embedded/secrets.ts'
import { compareMigrations } from '../data/migrations/migrate.ts'
import { examine } from './doctor.ts'
import { mintKey, revokeKeyOf } from '../domains/api-keys/keys.ts'
import { mergeReaderOf } from '../domains/merges/merge.ts'
import { kidOf, replaceIdentitySecret, revokeIdentitySecretOf } from '../domains/readers/identity-secrets.ts'
import { findKeyUse, resealSecrets, type Resealed } from '../domains/encryption-keys/reseal.ts'
import { TakenError } from '../domains/bootstrap/bootstrap.ts'
import { allSecrets, endSecretOf } from '../domains/tenants/secrets.ts'
import { loadTenant } from '../domains/tenants/tenants.ts'
import { ImportRunning } from '../transfer/import/import.ts'
import { listImports } from '../domains/imports/imports.ts'
import { SourceError } from '../transfer/item.ts'
import { undoImport } from '../transfer/undo/undo.ts'
import { revokeWebhookSecretOf } from '../domains/webhooks/rotation.ts'
import { runRename } from './rename.ts'
import { StoppedError, markEndPrinted } from './stop.ts'
import { EXPORT, FileError, filePath, IMPORT, runExport, runImport } from './transfer.ts'
import { command, CommandError, ofTenant, tenantCommand } from './command.ts'
import { MEMBERS } from './members.ts'
import { TENANTS } from './tenants.ts'

const { version: VERSION }: { version: string } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

const COMMANDS = {
  ...TENANTS,
  ...MEMBERS,
  'key create': tenantCommand(
    `Makes an API key, without any capability unless named: ${CAPABILITIES.join(', ')}.`,
    {
      label: atMost(100, z.string().min(1, 'must not be empty')),
      capabilities: z
        .string()
        .transform((text) => [...new Set(text.split(',').filter((name) => name !== ''))])
        .pipe(z.array(z.enum(CAPABILITIES, `must be some of ${CAPABILITIES.join(', ')}, separated by commas`)))
        .default([])
        .describe('name,name'),
      'expires-at': z.iso
        .datetime({ offset: true, error: 'must be an RFC 3339 date and time' })
        .transform((text) => new Date(text))
        .refine((date) => date.getTime() > Date.now(), 'must be in the future')
        .refine((date) => reachOf(date.getTime()) === null, 'must not be after 9999')
        .optional()
        .describe('RFC 3339 time'),
    },
    async (app, { id, slug }, { label, capabilities, ...options }) => {
      const key = { label, capabilities, expiresAt: options['expires-at'] ?? null }
      const { apiKey, key: rawKey } = await app.db.transaction((sql) => mintKey(sql, id, key))
      return { tenant: { id, slug }, ...apiKey, key: rawKey }
    },
  ),
  'key list': tenantCommand('Lists the API keys of a tenant.', {}, (app, { id: tenantId }) =>
    app.prisma.apiKey.findMany({ where: { tenantId }, orderBy: { id: 'desc' }, omit: { digest: true } }),
  ),
  'key revoke': tenantCommand('Revokes an API key. This is final.', { id: z.string() }, (app, tenant, { id }) =>
    revokeKeyOf(app, tenant.id, id),
  ),
  'identity-secret create': tenantCommand(
    'Creates an identity secret. The previous secret stays valid for 24 hours.',
    {},
    (app, { id }) => replaceIdentitySecret(app, id),
  ),
  'identity-secret list': tenantCommand(
    'Lists the identity secrets of a tenant, without the secrets.',
    {},
    (app, { id }) => allSecrets(app, id, 'identity_secret'),
  ),
  'identity-secret revoke': tenantCommand(
    'Ends an identity secret at once. This is final.',
    { kid: z.string() },
    (app, { id }, { kid }) => revokeIdentitySecretOf(app, id, kid, recorderOf(byService(id))),
  ),
  'webhook-secret revoke': tenantCommand(
    'Ends a signing secret of a webhook endpoint at once. This is final.',
    { endpoint: z.string().describe('id'), kid: z.string() },
    async (app, { id }, { endpoint, kid }) =>
      revokeWebhookSecretOf(app, await loadTenant(app, id), { id: endpoint, kid }, recorderOf(byService(id))),
  ),
  'classifier-secret list': tenantCommand(
    'Lists the classifier secrets of a tenant, without the secrets.',
    {},
    (app, { id }) => allSecrets(app, id, 'classifier_secret'),
  ),
  'classifier-secret revoke': tenantCommand(
    'Ends a classifier secret at once. This is final.',
    { kid: z.string() },
    (app, { id }, { kid }) => endSecretOf(app, id, 'classifier_secret', kid, recorderOf(byService(id))),
  ),
  'identity sign': defineCommand(
    'Prints an identity assertion of a reader that is valid for an hour, to try the API by hand. It needs no database.',
    {
      tenant: ofTenant,
      secret: identitySecretSchema.describe('identity secret'),
      sub: atMost(255, z.string().min(1, 'must not be empty')).describe("reader's id"),
      name: z.string().optional(),
    },
    ({ secret, sub, name, ...options }) =>
      new SignJWT(name === undefined ? {} : { name })
        .setProtectedHeader({ alg: 'HS256', kid: kidOf(secret) })
        .setSubject(sub)
        .setAudience(options.tenant)
        .setIssuedAt()
        .setExpirationTime('1 h')
        .sign(new TextEncoder().encode(secret)),
  ),
  'secrets reseal': command(
    'Encrypts with ENCRYPTION_KEY all stored secrets that a key of ENCRYPTION_KEYS encrypted. The service may run meanwhile.',
    {},
    async (app) => checked(await resealSecrets(app)),
  ),
  'secrets new-key': command(
    'Creates a new ENCRYPTION_KEY in DATA_DIR and encrypts all stored secrets with it. Only for the embedded database, while the service is stopped.',
    {},
    async (app) => {
      const { DATABASE_URL, DATA_DIR, ENCRYPTION_KEY } = app.settings
      if (DATABASE_URL !== undefined || !embeddedSecrets(DATA_DIR).ENCRYPTION_KEY.equals(ENCRYPTION_KEY)) {
        throw new CommandError('ENCRYPTION_KEY comes from the environment: change it there, then run secrets reseal')
      }
      const { oldKeys } = await findKeyUse(app.db.query, app.settings)
      const needed = new Set(oldKeys.filter(({ canBeRemoved }) => !canBeRemoved).map(({ key }) => key))
      const replaced = replaceEncryptionKey(DATA_DIR, (key) => needed.has(keyIdOf(key)))
      return checked(await resealSecrets({ db: app.db, settings: { ...app.settings, ...replaced } }))
    },
  ),
  'readers merge': tenantCommand(
    'Merges the reader of --from into the one of --into. The reader of --into stays, with their name and profile, and gets the comments, reactions, reports and bans of the reader of --from, who is removed. This is final. If it is interrupted, the same command continues, and so does a worker.',
    {
      from: z
        .string()
        .meta({ description: 'id', about: 'The reader to merge: their id in the service or at the tenant.' }),
      into: z.string().meta({ description: 'id', about: 'The reader who stays, named in the same way.' }),
    },
    async (app, { id: tenantId, slug }, { from, into }) => {
      const { id, externalId, name } = await mergeReaderOf(app, tenantId, from, into)
      return { tenant: { id: tenantId, slug }, reader: { id, externalId, name } }
    },
  ),
  'discussions rename': tenantCommand(
    'Gives discussions other external ids, by a file of two columns. The former ids lead to them for a year. If it is interrupted, the same command continues. `renamedSince` counts rows whose discussion has a third id by now, which it keeps. The exit status is 1 if a row was refused; standard error says which and why.',
    {
      map: filePath.meta({
        description: 'renames.csv',
        about: 'CSV of two columns: the old external ids, and the new.',
      }),
    },
    (app, { id }, { map }) => runRename(app, id, map),
  ),
  'documents add': tenantCommand(
    'Adds the GraphQL documents of a manifest, by whose ids clients then run them. All are added, or none.',
    {
      file: filePath.meta({
        description: 'manifest.json',
        about: 'What Apollo’s, Relay’s or graphql-codegen’s tool has written.',
      }),
    },
    async (app, { id }, { file }) => {
      // With the whole schema, which no other command needs.
      const { addManifest } = await import('./documents.ts')
      return addManifest(app, id, file)
    },
    { places: ['file'] },
  ),
  import: tenantCommand(
    'Imports comments from a file into a tenant, without events to streams or webhooks. If it is interrupted, the same command continues. The exit status is 1 if an item was refused.',
    IMPORT,
    (app, { id }, options) => runImport(app, id, options),
    { places: ['file'] },
  ),
  'import list': tenantCommand('Lists the imports of a tenant.', {}, (app, { id }) => listImports(app, id)),
  'import undo': tenantCommand(
    'Takes back what an import has made and nobody has touched since. Prints what stays.',
    { id: z.string() },
    async (app, tenant, { id }) => {
      const undone = await undoImport(app, tenant.id, id)
      if (undone === null) throw new CommandError(`${tenant.slug} has no import ${id}`)
      return undone
    },
    { places: ['id'] },
  ),
  export: tenantCommand(
    'Writes all that is a tenant’s but secrets, as of one instant, to a file or standard output: JSON Lines, packed with gzip if the name ends in .gz.',
    EXPORT,
    (app, tenant, options) => runExport(app, tenant, options),
    { places: ['file'] },
  ),
  migrate: command(
    'Applies the migrations that the database lacks, and starts nothing. Prints those of other releases that it has. The only command that works on a database without the service: it makes an embedded one where DATA_DIR has none, and the tables in an empty one of a server.',
    {},
    async ({ db }) => compareMigrations(db.query),
    { mayMakeDatabase: true },
  ),
  version: defineCommand('Prints the version of the service.', {}, async () => VERSION),
  doctor: defineCommand(
    'Checks each part of the deployment and prints a line for it. The exit status is 1 if a check fails. It changes nothing.',
    {},
    async () => {
      const findings = await examine(process.env)
      if (findings.some(({ level }) => level === 'fail')) process.exitCode = 1
      return findings.map(({ level, part, text }) => `${level.padEnd(5)} ${part.padEnd(10)} ${text}`).join('\n')
    },
  ),
}

/** The exit status is 1 if something cannot be opened. */
function checked(resealed: Resealed): Resealed {
  if (resealed.damaged > 0 || resealed.missingKeys.length > 0) process.exitCode = 1
  return resealed
}

const isExpected = (error: unknown): error is Error =>
  [
    UsageError,
    SettingsError,
    CommandError,
    TakenError,
    ServiceError,
    ImportRunning,
    StoppedError,
    SourceError,
    FileError,
  ].some((kind) => error instanceof kind)

/**
 * The reason in one line. A failed connection to several addresses is an error without a message.
 */
function reasonOf(error: unknown): string {
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error
  return (inner instanceof Error ? inner.message : String(inner)).split('\n')[0] ?? ''
}

async function main(): Promise<void> {
  failOnUncaught((error) => console.error(`The command failed: ${reasonOf(error)}`))
  try {
    const text = await readCommandLine(COMMANDS, process.argv.slice(2))()
    if (text !== '') console.log(text)
  } catch (error) {
    console.error(isExpected(error) ? error.message : `The command failed: ${reasonOf(error)}`)
    markEndPrinted()
    process.exitCode = error instanceof UsageError ? 2 : error instanceof StoppedError ? error.status : 1
  }
  // Not awaited: the migration engine leaves a timer of 10 s behind. Output is flushed first.
  process.stdout.write('', () => process.stderr.write('', () => process.exit()))
}

void main()
