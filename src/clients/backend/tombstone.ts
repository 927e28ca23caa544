/** A comment out of view, as the public sees it while it has replies. */
export const tombstoneOf = <T extends { status?: unknown }>(comment: T): T => ({
  ...comment,
  status: comment.status === 'deleted' ? 'deleted' : 'withheld',
  author: null,
  body: null,
  bodyHtml: null,
  editedAt: null,
  revision: 1,
})
