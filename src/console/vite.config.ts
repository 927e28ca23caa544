import { join } from 'node:path'

import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  // Whatever path a proxy puts in front: the page's `<base>` says where it stands.
  base: './',
  plugins: [react()],
  // What the service puts there at each answer (src/api/http/console.ts).
  html: { cspNonce: '{nonce}' },
  build: {
    outDir: join(import.meta.dirname, '../../dist/console'),
    // src/build.ts keeps the files of the build before, which an open page may still ask for.
    emptyOutDir: false,
    manifest: 'manifest.json',
    assetsInlineLimit: 0,
    // A file for each page's styles would be asked for one after another.
    cssCodeSplit: false,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
  },
  logLevel: 'warn',
})
