import type { NextConfig } from 'next'

export default {
  // The folders around it have lock files of their own.
  turbopack: { root: import.meta.dirname },
} satisfies NextConfig
