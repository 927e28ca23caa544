import { useThrottledCallback } from '@mantine/hooks'
import { useEffect, useRef } from 'react'

import {
  DiscussionDocument,
  MarkedDocument,
  ThreadDocument,
  WithheldCommentDocument,
} from '../../../generated/console.ts'
import { useDiscussionEvents } from '../../api/live.ts'
import { useRefresh } from '../../api/queries.ts'

/**
 * Keeps a discussion up to date. Events lead to a query of its position, at most some times a
 * second; a changed position, after an event or in a periodic answer, leads to a query of the
 * thread.
 */
export function useLiveThread(discussionId: string, lastEventId: string): void {
  const refreshPosition = useRefresh([DiscussionDocument])
  const refreshThread = useRefresh([ThreadDocument, MarkedDocument, WithheldCommentDocument])
  const onEvent = useThrottledCallback(() => void refreshPosition(), 400)
  useDiscussionEvents([discussionId], onEvent)

  const known = useRef(lastEventId)
  const refresh = useRef(refreshThread)
  useEffect(() => {
    refresh.current = refreshThread
  })
  useEffect(() => {
    if (known.current === lastEventId) return
    known.current = lastEventId
    void refresh.current()
  }, [lastEventId])
}
