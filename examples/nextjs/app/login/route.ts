import { cookies } from 'next/headers'
import { redirect } from 'next/navigation'

/** Signs in without a password: a site of yours has its own way. */
export async function GET(request: Request): Promise<never> {
  const back = new URL(request.url).searchParams.get('return') ?? '/'
  const session = await cookies()
  session.set('reader', 'ann', { httpOnly: true, sameSite: 'lax' })
  // Only a path of this site.
  redirect(new URL(back, 'http://site').pathname.replace(/^\/*/, '/'))
}
