import { Badge } from '@mantine/core'

import type { CommentStatus } from '../../generated/console.ts'

/** What became of a comment. One that waits stands out. */
export const StatusBadge = ({ status }: { status: CommentStatus }) =>
  status === 'pending' ? <Badge variant="filled">{status}</Badge> : <Badge>{status}</Badge>
