import { addSigningSecrets } from '../tenants/graphql-signing-secrets.ts'

addSigningSecrets('mail', {
  signs: 'the mails for guests that the tenant sends',
  listed: 'that sign mails for guests',
  without: 'no mail is handed out',
})
