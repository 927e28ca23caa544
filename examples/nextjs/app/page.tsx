import { EngagementCount } from 'engagement-react'
import Link from 'next/link'
import { connection } from 'next/server'
import { Suspense } from 'react'

import { articles } from './articles'
import { service } from './engagement'

export default function Front() {
  return (
    <main>
      <h1>The Morning Paper</h1>
      {articles.map(({ id, title }) => (
        <p key={id}>
          <Link href={`/articles/${id}`}>{title}</Link>
          <Suspense>
            , <Count id={id} />
          </Suspense>
        </p>
      ))}
    </main>
  )
}

async function Count({ id }: { id: string }) {
  // The address of the service comes with the process, not with the build.
  await connection()
  return <EngagementCount service={service()} discussion={id} />
}
