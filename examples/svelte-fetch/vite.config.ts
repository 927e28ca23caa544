import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

import { site } from '../site.ts'

export default defineConfig(site(import.meta.dirname, svelte({ configFile: false })))
