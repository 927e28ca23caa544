import { join } from 'node:path'

import { minify, type MinifyOptions } from 'terser'
import { defineConfig, type Rolldown } from 'vite'

/**
 * What lit says of itself to polyfills and to itself in other versions; neither is on any page that
 * this one serves.
 */
const MARKS =
  /,(\w+)=\w+\.litHtmlPolyfillSupport;\1\?\.\(\w+,\w+\),\(\w+\.litHtmlVersions\?\?=\[\]\)\.push\(`[\d.]+`\);var /

/** Between the tags of a template. What stands in one line of text has a space of its own. */
const EDGES = /(?<=>) (?=<|\$\{)|(?<=\}) (?=<\/)/g

/** The white space of templates, and marks: there is no bundler behind this one. */
const leaveOut = (code: string): string =>
  code.replace(/\n +/g, ' ').replace(EDGES, '').replaceAll('/* @__PURE__ */ ', '').replace(MARKS, ',')

/**
 * Shortens what Oxc leaves: constants and functions that are used once, and the names of lit's own
 * properties, which no two files of the widget share. Statements and comparisons stay as they are
 * written, which gzip likes better.
 */
const OPTIONS: MinifyOptions = {
  module: true,
  ecma: 2020,
  compress: { sequences: false, lhs_constants: false },
  mangle: { properties: { regex: /^_\$/ } },
}

const shorten: Rolldown.Plugin = {
  name: 'shorten',
  generateBundle: async (_options, bundle) => {
    for (const file of Object.values(bundle)) {
      if (file.type === 'chunk') file.code = (await minify(leaveOut(file.code), OPTIONS)).code ?? ''
    }
  },
}

/**
 * `dist/widget/widget.js`, one module, and one beside it for each language that is not English, and
 * for warnings.
 */
export default defineConfig({
  root: import.meta.dirname,
  build: {
    target: 'es2022',
    // Those that know light and dark by themselves.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    outDir: join(import.meta.dirname, '../../../dist/widget'),
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: { entry: 'widget.ts', formats: ['es'] },
    rolldownOptions: {
      // Terser takes seconds where the machine is busy.
      checks: { pluginTimings: false },
      optimization: { inlineConst: { mode: 'all', pass: 3 } },
      plugins: [shorten],
      output: { minify: true, entryFileNames: 'widget.js', chunkFileNames: 'widget.[name].js' },
    },
  },
  logLevel: 'warn',
})
