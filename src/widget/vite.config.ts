import { join } from 'node:path'

import { defineConfig, type Rolldown } from 'vite'

/** What lit says of itself to polyfills and to itself in other versions; neither is on any page that this one serves. */
const MARKS =
  /,(\w+)=\w+\.litHtmlPolyfillSupport;\1\?\.\(\w+,\w+\),\(\w+\.litHtmlVersions\?\?=\[\]\)\.push\(`[\d.]+`\);var /

/** Between the tags of a template. What stands in one line of text has a space of its own. */
const EDGES = /(?<=>) (?=<|\$\{)|(?<=\}) (?=<\/)/g

/** The white space of templates, and marks: there is no bundler behind this one. */
const leaveOut: Rolldown.Plugin = {
  name: 'leave-out',
  generateBundle: (_options, bundle) => {
    for (const file of Object.values(bundle)) {
      if (file.type !== 'chunk') continue
      file.code = file.code
        .replace(/\n +/g, ' ')
        .replace(EDGES, '')
        .replaceAll('/* @__PURE__ */ ', '')
        .replace(MARKS, ',')
    }
  },
}

/** `dist/widget/widget.js`, one module, and one beside it for each language that is not English, and for warnings. */
export default defineConfig({
  root: import.meta.dirname,
  build: {
    target: 'es2022',
    // Those that know light and dark by themselves.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    outDir: join(import.meta.dirname, '../../dist/widget'),
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: { entry: 'widget.ts', formats: ['es'] },
    rolldownOptions: {
      optimization: { inlineConst: { mode: 'all', pass: 3 } },
      plugins: [leaveOut],
      output: { minify: true, entryFileNames: 'widget.js', chunkFileNames: 'widget.[name].js' },
    },
  },
  logLevel: 'warn',
})
