import { Snippets } from '../../ui/snippets.tsx'
import go from './snippets/verify.go?raw'
// Its text, which is no module's.
// oxlint-disable-next-line import/default
import node from './snippets/verify.mjs?raw'
import php from './snippets/verify.php?raw'
import python from './snippets/verify.py?raw'

/** The code that a receiver needs to verify the service's requests. */
export function VerifySnippet() {
  return <Snippets label="Verifying a signature" snippets={{ Node: node, Python: python, PHP: php, Go: go }} />
}
