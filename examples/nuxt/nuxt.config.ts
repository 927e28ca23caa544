export default defineNuxtConfig({
  compatibilityDate: '2026-11-01',
  telemetry: false,
  // The site has no styles. The minifier that Nuxt brings needs Node 22.
  postcss: { plugins: { cssnano: false } },
})
