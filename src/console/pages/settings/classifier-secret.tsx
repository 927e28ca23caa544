import {
  ClassifierSecretsDocument,
  CreateClassifierSecretDocument,
  RevokeClassifierSecretDocument,
  SettingsDocument,
} from '../../../generated/console.ts'
import { useList, useWrite } from '../../api/queries.ts'
import { SigningSecret } from './signing-secret.tsx'

/** The secret that signs requests to the classifier. */
export function ClassifierSecret() {
  const create = useWrite(CreateClassifierSecretDocument, [SettingsDocument, ClassifierSecretsDocument])
  const revoke = useWrite(RevokeClassifierSecretDocument, [ClassifierSecretsDocument])
  const list = useList(ClassifierSecretsDocument, { first: 10 }, ({ classifierSecrets }) => classifierSecrets)
  return (
    <SigningSecret
      nodes={list.nodes}
      service="classifier"
      about="Requests to the classifier are signed with this secret, so that it can verify them. Without a secret no request is sent."
      onCreate={async () => (await create.mutateAsync({})).createClassifierSecret}
      onEnd={(kid) => revoke.mutateAsync({ input: { kid } })}
    />
  )
}
