import { Code, Text } from '@mantine/core'

import { MeDocument } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'
import { Snippets } from '../../ui/snippets.tsx'
import { Answered } from '../../ui/states.tsx'
import go from './snippets/sign.go?raw'
// Its text, which is no module's.
// oxlint-disable-next-line import/default
import node from './snippets/sign.mjs?raw'
import php from './snippets/sign.php?raw'
import python from './snippets/sign.py?raw'

const SNIPPETS = { Node: node, Python: python, PHP: php, Go: go }

/**
 * The code that a backend needs to vouch for a reader. It contains the tenant and the kid; the
 * secret is read at run time.
 */
export function SignSnippet({ kid }: { kid: string }) {
  const query = useApi(MeDocument, {})
  const fill = (text: string, tenant: string): string => text.replaceAll('{tenant}', tenant).replaceAll('{kid}', kid)
  return (
    <Answered query={query} of="the tenant's name">
      {({ me }) => (
        <>
          <Text size="sm" c="dimmed">
            For your backend alone. It reads the secret from the environment, as <Code>ENGAGEMENT_IDENTITY_SECRET</Code>
            ; change the kid with it.
          </Text>
          <Snippets
            label="Signing an assertion"
            snippets={Object.fromEntries(
              Object.entries(SNIPPETS).map(([language, text]) => [language, fill(text, me?.tenant.slug ?? '')]),
            )}
          />
        </>
      )}
    </Answered>
  )
}
