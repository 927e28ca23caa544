import './library.css'
import '@mantine/notifications/styles.css'
import './console.css'

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { App } from './app.tsx'
import { styleNonce } from './nonce.ts'

// Read by the dialogs' scroll lock before it adds a `<style>` to the page.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() })

const element = document.querySelector('#console')
if (element === null) throw new Error('the page has no #console')
createRoot(element).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
