import { addSigningSecrets } from '../tenants/graphql-signing-secrets.ts'

addSigningSecrets('classifier', {
  signs: "requests to the tenant's classifier",
  listed: "of the tenant's classifier",
  without: 'the classifier is not asked',
})
