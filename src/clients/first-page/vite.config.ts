import { join } from 'node:path'

import { defineConfig, type Rolldown } from 'vite'

import { leaveOut } from '../widget/vite.config.ts'

/** The same white space in templates as in the widget's own file. */
const spaces: Rolldown.Plugin = {
  name: 'spaces',
  generateBundle: (_options, bundle) => {
    for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = leaveOut(file.code)
  },
}

/** `dist/clients/backend/first-page.js`: the widget's views for Node, with all that they need. */
export default defineConfig({
  root: import.meta.dirname,
  ssr: { noExternal: true },
  build: {
    ssr: 'draw.ts',
    target: 'node20',
    outDir: join(import.meta.dirname, '../../../dist/clients/backend'),
    emptyOutDir: false,
    cssMinify: true,
    rolldownOptions: {
      plugins: [spaces],
      output: { minify: true, entryFileNames: 'first-page.js', codeSplitting: false },
    },
  },
  logLevel: 'warn',
})
