/** How many of a reader's comments a page shows that wait, and how many that were rejected. */
const OWN = '50'

interface Thread {
  externalId: string
  /** Of the page's request. */
  query: Record<string, string>
  /** What a path of this library answers. */
  part: (method: string, path: string, query?: Record<string, string>) => Promise<Response>
  signedIn: () => Promise<object | null>
  /** Sends the page's details to the service. */
  tell: () => Promise<void>
  /** For the stream; null for a page that asks for one itself. */
  ticket: () => Promise<Response | null>
}

/**
 * All that a page shows first. Each part is what its own path answers, but a page without a
 * discussion gets none by being read, and no ticket.
 */
export async function threadOf({ externalId, query, part, signedIn, tell, ticket }: Thread): Promise<Response> {
  const [settings, reader, found] = await Promise.all([
    part('GET', '/settings'),
    signedIn(),
    part('GET', '/discussion', { externalId }),
  ])
  if (!settings.ok) return settings
  if (!found.ok) return found
  const discussion = (await found.json()) as { id: string } | null
  const first = { settings: await settings.json(), reader, discussion }
  if (discussion === null) return Response.json({ ...first, comments: null, own: null, ticket: null })
  // After the discussion: what changes in between comes again by the stream.
  const [comments, own, admission] = await Promise.all([
    part('GET', '/comments', query),
    reader === null ? null : Promise.all(OUT_OF_VIEW.map((status) => ownIn(part, discussion.id, status))),
    ticket(),
    tell(),
  ])
  const failed = [comments, ...(own ?? [])].find(({ ok }) => !ok)
  if (failed) return failed
  return Response.json({
    ...first,
    comments: await comments.json(),
    own: own && newestFirst(await Promise.all(own.map(async (each) => (await each.json()) as { data: Own[] }))),
    ticket: admission?.ok === true ? await admission.json() : null,
  })
}

interface Own {
  id: string
}

/** Asked by their state: a busy reader has many newer comments than one that waits. */
const OUT_OF_VIEW = ['pending', 'rejected'] as const

const ownIn = (part: Thread['part'], discussionId: string, status: string): Promise<Response> =>
  part('GET', '/me/comments', { discussionId, status, limit: OWN })

/** Ids are in the order of time. */
const newestFirst = (pages: { data: Own[] }[]): Own[] =>
  pages.flatMap(({ data }) => data).sort((one, other) => (one.id < other.id ? 1 : -1))
