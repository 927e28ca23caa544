import { EngagementCount } from 'engagement-react'
import Link from 'next/link'

import { articles } from './articles'
import { service } from './engagement'

// The address of the service comes with the process, not with the build.
export const dynamic = 'force-dynamic'

export default function Front() {
  return (
    <main>
      <h1>The Morning Paper</h1>
      {articles.map(({ id, title }) => (
        <p key={id}>
          <Link href={`/articles/${id}`}>{title}</Link>, <EngagementCount service={service()} discussion={id} />
        </p>
      ))}
    </main>
  )
}
