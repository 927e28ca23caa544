import { type ComponentType, Suspense } from 'react'
import { Route, Routes, useLocation } from 'react-router'

import { Boundary } from './ui/boundary.tsx'
import { lazily } from './ui/lazy.ts'
import { Loading, NotFound } from './ui/states.tsx'

type Load = () => Promise<{ Page: ComponentType }>

const page = (load: Load) => lazily(async () => (await load()).Page)

/**
 * Every page by its path below `/console/`, each in a file of its own that is loaded when it is
 * gone to.
 */
const PAGES = {
  '/': page(() => import('./pages/overview/overview.tsx')),
  audit: page(() => import('./pages/audit/audit.tsx')),
  discussions: page(() => import('./pages/discussions/discussions.tsx')),
  'discussions/:id': page(() => import('./pages/discussions/discussion.tsx')),
  identity: page(() => import('./pages/identity/identity.tsx')),
  keys: page(() => import('./pages/keys/keys.tsx')),
  moderation: page(() => import('./pages/moderation/moderation.tsx')),
  readers: page(() => import('./pages/readers/readers.tsx')),
  'readers/:id': page(() => import('./pages/readers/reader.tsx')),
  'webhooks/:id': page(() => import('./pages/webhooks/endpoint/endpoint.tsx')),
  'webhooks/:id/deliveries/:deliveryId': page(() => import('./pages/webhooks/delivery.tsx')),
  webhooks: page(() => import('./pages/webhooks/webhooks.tsx')),
  settings: page(() => import('./pages/settings/settings.tsx')),
} satisfies Readonly<Record<string, ComponentType>>

/** The pages that the navigation has. Others are reached from these. */
export type TopPage = '/' | Exclude<keyof typeof PAGES, `${string}/${string}`>

export function Pages() {
  const { pathname } = useLocation()
  return (
    <Boundary resetKeys={[pathname]}>
      <Suspense fallback={<Loading />}>
        <Routes>
          {Object.entries(PAGES).map(([path, Page]) => (
            <Route key={path} path={path} element={<Page />} />
          ))}
          <Route path="*" element={<NotFound />} />
        </Routes>
      </Suspense>
    </Boundary>
  )
}
