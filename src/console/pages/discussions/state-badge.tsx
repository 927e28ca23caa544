import { Badge } from '@mantine/core'
import { IconArchive, IconLock } from '../../ui/icons.tsx'

import type { DiscussionState } from '../../../generated/console.ts'

const ICONS = {
  open: null,
  locked: <IconLock size={12} aria-hidden />,
  archived: <IconArchive size={12} aria-hidden />,
}

/** Who may write in a discussion. */
export const DiscussionStateBadge = ({ state }: { state: DiscussionState }) => (
  <Badge leftSection={ICONS[state]}>{state}</Badge>
)
