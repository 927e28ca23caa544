import { Anchor } from '@mantine/core'
import { IconExternalLink } from './icons.tsx'

import { WRITTEN } from './written.ts'

/** The address if it is an http or https one that a browser may open. Null for anything else. */
export function webAddress(url: string | null | undefined): string | null {
  return url != null && /^https?:\/\//i.test(url) && URL.canParse(url) ? url : null
}

/** The host of an address, to name it by. A text without a host stays as it is. */
export const hostOf = (address: string): string => (URL.canParse(address) && new URL(address).host) || address

/** Where readers see a comment: the address of its page, and its own there if it is in view. */
export function commentAddress(url: string | null | undefined, comment: { id: string; status: string }): string | null {
  const address = webAddress(url)
  return address === null || comment.status !== 'approved' ? address : `${address.split('#')[0]}#comment-${comment.id}`
}

/** A link to an address that others wrote, in a new tab. Nothing if it is not http or https. */
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
