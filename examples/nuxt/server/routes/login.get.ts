/** Signs in without a password: a site of yours has its own way. */
export default defineEventHandler((event) => {
  setCookie(event, 'reader', 'ann', { httpOnly: true, sameSite: 'lax' })
  const back = String(getQuery(event).return ?? '/')
  // Only a path of this site.
  return sendRedirect(event, new URL(back, 'http://site').pathname.replace(/^\/*/, '/'), 303)
})
