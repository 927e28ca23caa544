import { builder } from '../../graphql/builder.ts'
import { addMutation } from '../../graphql/mutation.ts'
import { secretType } from '../../graphql/secret-type.ts'
import { SHOWN_ONCE, shownOnce } from '../../graphql/shown-once.ts'
import { listSecrets } from './secrets.ts'
import { createSigningSecret, revokeSigningSecret, type SigningKind } from './signing-secrets.ts'

interface Words {
  /** What they sign. */
  signs: string
  /** What the list calls them. */
  listed: string
  /** What happens when the last one is ended. */
  without: string
}

const KID = 'The id of the secret, as signatures name it.'

/**
 * The query and the mutations of secrets that sign requests to a program of the tenant. `name` is
 * that of one in lower case, such as `mail`.
 */
export function addSigningSecrets(name: 'mail' | 'classifier', { signs, listed, without }: Words): void {
  const kind: SigningKind = `${name}_secret`
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Secret`
  const ref = secretType(type, { description: `The public part of a secret that signs ${signs}.`, kid: KID })

  builder.queryField(`${name}Secrets`, (t) =>
    t.connection({
      type: ref,
      access: 'manage_settings',
      description: `Returns the secrets ${listed}, newest first.`,
      resolve: (_root, args, ctx) => listSecrets(ctx, kind, args),
    }),
  )

  addMutation(`create${type}`, {
    access: 'manage_settings',
    description: `Creates a secret that signs ${signs}. The previous secret also signs for 24 hours.`,
    resolve: (_input, ctx) => createSigningSecret(ctx, kind),
    answers: 'The new secret.',
    output: (t) => ({
      kid: t.exposeString('kid', { description: KID }),
      secret: t.string({
        ...shownOnce('secret'),
        description: `The secret. The UTF-8 bytes of the whole text sign each request. ${SHOWN_ONCE}`,
      }),
      standardSecret: t.string({
        ...shownOnce('standardSecret'),
        description: `The same secret for libraries of Standard Webhooks. ${SHOWN_ONCE}`,
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    }),
  })

  addMutation(`revoke${type}`, {
    takes: `A ${name} secret to end.`,
    input: (t) => ({ kid: t.id({ required: true, description: 'The id of the secret.' }) }),
    access: 'manage_settings',
    throws: ['not_found'],
    description: `Ends a ${name} secret at once: it signs no further request. This is final. Without another one ${without}.`,
    resolve: (input, ctx) => revokeSigningSecret(ctx, kind, input),
    answers: 'The ended secret.',
    output: (t) => ({
      [`${name}Secret`]: t.field({ type: ref, description: 'The secret.', resolve: (secret) => secret }),
    }),
  })
}
