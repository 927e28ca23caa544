/** How many of a reader's newest comments are looked at for those that wait or were rejected. */
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
    reader === null ? null : part('GET', '/me/comments', { discussionId: discussion.id, limit: OWN }),
    ticket(),
    tell(),
  ])
  if (!comments.ok) return comments
  if (own?.ok === false) return own
  return Response.json({
    ...first,
    comments: await comments.json(),
    own: own && outOfView((await own.json()) as { data: { status: string }[] }),
    ticket: admission?.ok === true ? await admission.json() : null,
  })
}

/** Of the reader's newest comments, those that only they see. */
const outOfView = ({ data }: { data: { status: string }[] }) =>
  data.filter(({ status }) => status === 'pending' || status === 'rejected')
