import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { ROOT } from './markdown.ts'

const TSCONFIG = {
  extends: join(ROOT, 'tsconfig.json'),
  compilerOptions: {
    lib: ['es2023', 'dom', 'dom.iterable'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    allowJs: true,
    checkJs: true,
    // A user's program need not be stricter than this.
    noUnusedLocals: false,
    noUnusedParameters: false,
    paths: {
      'engagement-service/backend': [join(ROOT, 'dist/clients/backend/backend.d.ts')],
      'engagement-service/client': [join(ROOT, 'dist/clients/browser/stream.d.ts')],
      'engagement-service/client/tabs': [join(ROOT, 'dist/clients/browser/tabs.d.ts')],
      'engagement-service/graphql': [join(ROOT, 'dist/clients/graphql/client.d.ts')],
      'engagement-service/graphql/*': [join(ROOT, 'dist/clients/graphql/*.d.ts')],
      'engagement-react': [join(ROOT, 'dist/clients/react/react.d.ts')],
      'engagement-vue': [join(ROOT, 'dist/clients/vue/vue.d.ts')],
      'engagement-service/webhooks': [join(ROOT, 'dist/clients/receiver/verify.d.ts')],
      'https://comments.example.com/widget.js': [join(ROOT, 'src/clients/widget/words.ts')],
    },
  },
  include: ['.'],
  exclude: ['node_modules'],
}

/**
 * The compiler's errors in programs that use the shipped clients, each with its file: `a.ts(3,7):
 * error …`.
 */
export function typeErrorsOf(files: Readonly<Record<string, string>>, options: object = {}): string[] {
  const compilerOptions = { ...TSCONFIG.compilerOptions, ...options }
  const folder = mkdtempSync(join(tmpdir(), 'type-check-'))
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...TSCONFIG, compilerOptions }))
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
    })
    const errors = stdout.split('\n').filter((line) => / error TS\d+: /.test(line))
    if (status !== 0 && errors.length === 0) throw new Error(`the compiler did not run: ${stdout}`)
    return errors
  } finally {
    rmSync(folder, { recursive: true })
  }
}
