import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { transformAsync } from '@babel/core'
import react from '@vitejs/plugin-react'
import relayCompiler from 'relay-compiler'
import { defineConfig } from 'vite'

import { site } from '../site.ts'

const ROOT = import.meta.dirname
const GENERATED = join(ROOT, '__generated__')

/** Compiles the documents at the start, and puts the result in the place of each graphql`…`. */
const relay = {
  name: 'relay',
  enforce: 'pre',
  buildStart: () => {
    // The compiler leaves out documents that it has written before, and wants this file to exist.
    rmSync(GENERATED, { recursive: true, force: true })
    mkdirSync(GENERATED)
    writeFileSync(join(GENERATED, 'documents.json'), '{}')
    execFileSync(relayCompiler, ['relay.config.json'], { cwd: ROOT })
  },
  transform: (code, filename) =>
    code.includes('graphql`')
      ? transformAsync(code, {
          filename,
          plugins: [['relay', { eagerEsModules: true }]],
          parserOpts: { plugins: ['typescript', 'jsx'] },
          cwd: ROOT,
          configFile: false,
          sourceMaps: true,
        })
      : undefined,
}

export default defineConfig(site(ROOT, relay, react()))
