import { useThrottledCallback } from '@mantine/hooks'
import { useEffect, useRef } from 'react'

import { DiscussionDocument, MarkedDocument, ThreadDocument } from '../../../generated/console.ts'
import { useDiscussionEvents } from '../../api/live.ts'
import { useRefresh } from '../../api/queries.ts'

/**
 * Keeps a discussion in view as it is. An event has its position asked for, however many come not
 * more than some times a second; a position that has moved, by an event or in an answer to the
 * clock, has the thread asked for.
 */
export function useLiveThread(discussionId: string, lastEventId: string): void {
  const refreshPosition = useRefresh([DiscussionDocument])
  const refreshThread = useRefresh([ThreadDocument, MarkedDocument])
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
