import { Badge } from '@mantine/core'

import type { CommentStatus } from '../../generated/console.ts'

/** The state of a comment. A waiting one stands out. */
export const CommentStatusBadge = ({ status }: { status: CommentStatus }) =>
  status === 'pending' ? <Badge variant="filled">{status}</Badge> : <Badge>{status}</Badge>
