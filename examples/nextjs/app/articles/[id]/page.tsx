import { EngagementThread } from 'engagement-react'
import { headers } from 'next/headers'
import { notFound } from 'next/navigation'

import { articles } from '../../articles'
import { engagement, service } from '../../engagement'

export default async function Article({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const article = articles.find((each) => each.id === id)
  if (article === undefined) notFound()
  const { html, head } = await engagement().renderThread({
    externalId: id,
    page: article,
    // For the session of its reader. Leave it out for a page that Next.js keeps.
    request: new Request('http://site', { headers: await headers() }),
  })
  return (
    <main>
      <h1>{article.title}</h1>
      <p>{article.text}</p>
      <EngagementThread service={service()} html={html} signIn="/login" />
      {/* JSON-LD for search engines. */}
      <div hidden dangerouslySetInnerHTML={{ __html: head }} />
    </main>
  )
}
