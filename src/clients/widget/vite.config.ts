import { join } from 'node:path'

import { minify, type MinifyOptions } from 'terser'
import { defineConfig, type Rolldown } from 'vite'

/**
 * Hooks of lit for polyfills and for other versions of itself. No page with this widget has either.
 */
const MARKS =
  /,(\w+)=\w+\.litHtmlPolyfillSupport;\1\?\.\(\w+,\w+\),\(\w+\.litHtmlVersions\?\?=\[\]\)\.push\(`[\d.]+`\);var /

/** Space between the tags of a template. Space within a line of text is kept. */
const EDGES = /(?<=>) (?=<|\$\{)|(?<=\}) (?=<\/)/g

/** Removes the white space of templates, and marks for bundlers: no bundler follows this one. */
export const leaveOut = (code: string): string =>
  code.replace(/\n +/g, ' ').replace(EDGES, '').replaceAll('/* @__PURE__ */ ', '').replace(MARKS, ',')

/**
 * Shortens what Oxc leaves: inlines constants and functions that are used once, and renames lit's
 * own properties, which no two files of the widget share. Statements and comparisons are left as
 * written, which compresses better.
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
 * `dist/widget/<name>.js`, one module, with further ones for each language except English, and for
 * what few readers need. Modules of two names share no file.
 */
export const bundleOf = (entry: string, name: string) =>
  defineConfig({
    root: import.meta.dirname,
    build: {
      target: 'es2022',
      // Browsers with light-dark().
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      outDir: join(import.meta.dirname, '../../../dist/widget'),
      // The widget's is built first.
      emptyOutDir: name === 'widget',
      reportCompressedSize: false,
      lib: { entry, formats: ['es'] },
      rolldownOptions: {
        // Terser takes seconds on a busy machine.
        checks: { pluginTimings: false },
        optimization: { inlineConst: { mode: 'all', pass: 3 } },
        plugins: [shorten],
        output: { minify: true, entryFileNames: `${name}.js`, chunkFileNames: `${name}.[name].js` },
      },
    },
    logLevel: 'warn',
  })

export default bundleOf('widget.ts', 'widget')
