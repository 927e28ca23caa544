import { addSigningSecrets } from '../tenants/graphql-secrets.ts'

addSigningSecrets('classifier', {
  signs: "requests to the tenant's classifier",
  listed: "of the tenant's classifier",
  without: 'the classifier is not asked',
})
