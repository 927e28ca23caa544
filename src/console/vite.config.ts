import { join } from 'node:path'

import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  // Relative, because a proxy may add a path: the page's `<base>` has it.
  base: './',
  plugins: [
    react(),
    {
      name: 'documents-without-indentation',
      enforce: 'pre',
      // Every page loads all documents, and GraphQL needs no indentation.
      transform: (code, id) => (id.endsWith('/generated/console.ts') ? code.replaceAll(/\n +/g, '\n') : undefined),
    },
  ],
  // Replaced by the service in each answer, as `{sign-on}` is (src/api/http/site/console.ts).
  html: { cspNonce: '{nonce}' },
  build: {
    outDir: join(import.meta.dirname, '../../dist/console'),
    // src/build/build.ts keeps the files of the previous build, which open pages may still request.
    emptyOutDir: false,
    manifest: 'manifest.json',
    assetsInlineLimit: 0,
    // A style file for each page would be requested one after another.
    cssCodeSplit: false,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
  },
  logLevel: 'warn',
})
