import type { NextConfig } from 'next'

export default {
  // As in a new site: what is drawn with each request is in <Suspense>.
  cacheComponents: true,
  partialPrefetching: true,
  // The folders around it have lock files of their own.
  turbopack: { root: import.meta.dirname },
} satisfies NextConfig
