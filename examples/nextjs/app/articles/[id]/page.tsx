import { EngagementThread } from 'engagement-react'
import { headers } from 'next/headers'
import { notFound } from 'next/navigation'
import { connection } from 'next/server'
import { Suspense } from 'react'

import { articles } from '../../articles'
import { engagement, service } from '../../engagement'

/** The articles are drawn by `next build`, their comments with each request. */
export const generateStaticParams = () => articles.map(({ id }) => ({ id }))

export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const article = articles.find((each) => each.id === id)
  if (article === undefined) notFound()
  return (
    <main>
      <h1>{article.title}</h1>
      <p>{article.text}</p>
      <Suspense>
        <Comments article={article} />
      </Suspense>
    </main>
  )
}

async function Comments({ article }: { article: (typeof articles)[number] }) {
  // Only for a reader: Next.js also draws ahead what a link of the page leads to.
  await connection()
  // For the session of the reader.
  const request = new Request('http://site', { headers: await headers() })
  const { html, head } = await engagement().renderThread({ externalId: article.id, page: article, request })
  return (
    <>
      <EngagementThread service={service()} html={html} signIn="/login" />
      {/* JSON-LD for search engines. */}
      <div hidden dangerouslySetInnerHTML={{ __html: head }} />
    </>
  )
}
