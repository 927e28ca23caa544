import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

import { site } from '../site.ts'

export default defineConfig(site(import.meta.dirname, react()))
