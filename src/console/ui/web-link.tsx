import { Anchor } from '@mantine/core'
import { IconExternalLink } from './icons.tsx'

import { WRITTEN } from './written.ts'

/**
 * An address that a browser may be sent to: of the web, and no other kind. Null for anything else.
 */
export function webAddress(url: string | null | undefined): string | null {
  return url != null && /^https?:\/\//i.test(url) && URL.canParse(url) ? url : null
}

/**
 * A link to an address that somebody else wrote, in a new tab. Nothing, where it is not of the web.
 */
export function WebLink({ url }: { url: string | null | undefined }) {
  const address = webAddress(url)
  return (
    address !== null && (
      <Anchor href={address} target="_blank" rel="noopener noreferrer" size="sm" {...WRITTEN}>
        {address} <IconExternalLink size={14} aria-label="(opens in a new tab)" />
      </Anchor>
    )
  )
}
