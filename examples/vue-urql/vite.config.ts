import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

import { site } from '../site.ts'

export default defineConfig(site(import.meta.dirname, vue()))
