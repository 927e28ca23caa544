/** The comments of an article as the page has them first. */
export default defineEventHandler(async (event) => {
  const page = articles.find(({ id }) => id === getRouterParam(event, 'id'))
  if (page === undefined) throw createError({ statusCode: 404 })
  const { html, head } = await engagement().renderThread({
    externalId: page.id,
    page,
    // For the session of its reader. Leave it out for a page that is the same for all readers.
    request: toWebRequest(event),
  })
  return { html, head }
})
