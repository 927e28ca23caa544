// `npm run build`. It is JavaScript, because a production install cannot run TypeScript. There it
// only checks that what was built is up to date.
import { existsSync } from 'node:fs'

if (existsSync(new URL('../../node_modules/tsx', import.meta.url))) {
  const { register } = await import('tsx/esm/api')
  register()
  await import('./build.ts')
} else if (existsSync(new URL('../../dist/build.js', import.meta.url))) {
  await import('../../dist/build.js')
} else {
  console.error('Nothing is built yet. Install all with `npm ci`, then run `npm run build`.')
  process.exit(1)
}
