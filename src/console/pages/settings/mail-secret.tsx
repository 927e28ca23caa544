import {
  MailSecretsDocument,
  CreateMailSecretDocument,
  RevokeMailSecretDocument,
  SettingsDocument,
} from '../../../generated/console.ts'
import { useList, useWrite } from '../../api/queries.ts'
import { SigningSecret } from './signing-secret.tsx'

/** The secret that signs requests to the mailer. */
export function MailSecret() {
  const create = useWrite(CreateMailSecretDocument, [SettingsDocument, MailSecretsDocument])
  const revoke = useWrite(RevokeMailSecretDocument, [MailSecretsDocument])
  const list = useList(MailSecretsDocument, { first: 10 }, ({ mailSecrets }) => mailSecrets)
  return (
    <SigningSecret
      nodes={list.nodes}
      service="mailer"
      about="Requests to the mailer are signed with this secret, so that it can verify them. Without a secret no site takes guests."
      onCreate={async () => (await create.mutateAsync({})).createMailSecret}
      onEnd={(kid) => revoke.mutateAsync({ input: { kid } })}
    />
  )
}
