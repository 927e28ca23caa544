import type { NextConfig } from 'next'

export default {
  // A new site of Next.js has this. What each request draws is inside <Suspense>.
  cacheComponents: true,
  partialPrefetching: true,
  // The folders around it have lock files of their own.
  turbopack: { root: import.meta.dirname },
} satisfies NextConfig
