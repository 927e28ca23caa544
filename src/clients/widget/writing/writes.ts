import type { ask as Ask, PageComment } from '../backend.ts'

/** What signed-in readers ask the backend for one page. */
export function writesFor(ask: typeof Ask, { backend, discussion }: { backend: string; discussion: string }) {
  const of = (id: string, path = ''): string => `${backend}/comments/${id}${path}`
  return {
    post: (body: object, key: string, isWanted: () => boolean) =>
      ask<PageComment>(
        `${backend}/comments?${new URLSearchParams({ externalId: discussion })}`,
        'POST',
        body,
        key,
        isWanted,
      ),
    edit: (id: string, body: string, revision?: number) => ask<PageComment>(of(id), 'PATCH', { body, revision }),
    remove: (id: string) => ask<null>(of(id), 'DELETE'),
    react: (id: string, type: string | null) =>
      ask<{ type: string | null; reactionCounts: Record<string, number> }>(
        of(id, '/reaction'),
        type === null ? 'DELETE' : 'PUT',
        type === null ? undefined : { type },
      ),
    mute: (readerId: string, isMuted: boolean) =>
      ask<unknown>(`${backend}/readers/${readerId}/mute`, isMuted ? 'PUT' : 'DELETE'),
    report: (id: string, given: object) => ask<unknown>(of(id, '/report'), 'POST', given),
  }
}

export type Writes = ReturnType<typeof writesFor>
