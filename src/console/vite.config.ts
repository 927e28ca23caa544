import { join } from 'node:path'

import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  // Whatever path a proxy puts in front: the page's `<base>` says where it stands.
  base: './',
  plugins: [react()],
  // What the service puts there at each answer (src/http/console.ts).
  html: { cspNonce: '{nonce}' },
  build: {
    outDir: join(import.meta.dirname, '../../dist/console'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    // A file for each page's styles would be asked for one after another.
    cssCodeSplit: false,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
  },
  logLevel: 'warn',
})
