import { Text } from '@mantine/core'
import { type ComponentType, Suspense } from 'react'
import { Navigate, Route, Routes, useLocation } from 'react-router'

import { Boundary } from './ui/boundary.tsx'
import { lazily } from './ui/lazy.ts'
import { currentSession, may, type Need } from './api/session.ts'
import { PageFrame } from './ui/page.tsx'
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
  search: page(() => import('./pages/moderation/search/search.tsx')),
  readers: page(() => import('./pages/readers/readers.tsx')),
  'readers/:id': page(() => import('./pages/readers/reader.tsx')),
  sites: page(() => import('./pages/sites/sites.tsx')),
  'sites/:id': page(() => import('./pages/sites/sites.tsx')),
  team: page(() => import('./pages/team/team.tsx')),
  'webhooks/deliveries': page(() => import('./pages/webhooks/all-deliveries.tsx')),
  'webhooks/:id': page(() => import('./pages/webhooks/endpoint.tsx')),
  'webhooks/:id/deliveries/:deliveryId': page(() => import('./pages/webhooks/delivery.tsx')),
  webhooks: page(() => import('./pages/webhooks/webhooks.tsx')),
  settings: page(() => import('./pages/settings/settings.tsx')),
  members: page(() => import('./pages/members/members.tsx')),
  profile: page(() => import('./pages/profile/profile.tsx')),
} satisfies Readonly<Record<string, ComponentType>>

/** What each page needs, by the first part of its path; null: every member may use it. */
const NEEDS: Readonly<Record<string, Need | null>> = {
  '': 'view_analytics',
  moderation: 'moderate_content',
  search: 'moderate_content',
  discussions: 'moderate_content',
  readers: 'moderate_content',
  team: 'view_analytics',
  webhooks: 'manage_webhooks',
  keys: 'manage_api_keys',
  identity: 'manage_settings',
  sites: 'manage_settings',
  settings: 'manage_settings',
  audit: 'manage_settings',
  members: 'admin',
  profile: null,
}

const needOf = (path: string): Need | null => NEEDS[path.split('/')[path.startsWith('/') ? 1 : 0] ?? ''] ?? null

/** Whether the signed-in member may use the page with this path. */
export const mayOpen = (path: string): boolean => {
  const need = needOf(path)
  return need === null || may(need)
}

/** Where a member begins who may not see the overview. */
const firstPage = (): string => `/${Object.keys(NEEDS).find((path) => mayOpen(path)) ?? ''}`

/** The pages that the navigation has. Others are reached from these. */
export type TopPage = '/' | Exclude<keyof typeof PAGES, `${string}/${string}` | 'profile'>

export function Pages() {
  const { pathname } = useLocation()
  return (
    <Boundary resetKeys={[pathname]}>
      <Suspense fallback={<Loading />}>
        <Routes>
          {Object.entries(PAGES).map(([path, Page]) => (
            <Route
              key={path}
              path={path}
              element={mayOpen(path) ? <Page /> : path === '/' ? <Navigate to={firstPage()} replace /> : <NotAllowed />}
            />
          ))}
          <Route path="*" element={<NotFound />} />
        </Routes>
      </Suspense>
    </Boundary>
  )
}

/** A bookmark, or a link of a colleague, leads to a page that the role may not use. */
function NotAllowed() {
  const { pathname } = useLocation()
  const { role } = currentSession().session?.member ?? {}
  const need = needOf(pathname)
  const owners = need === 'admin' ? 'the role owner or admin' : `a role that has the capability ${need}`
  return (
    <PageFrame title="You may not use this page">
      <Text>
        It needs {owners}, and yours is {role}. Ask an owner of your tenant.
      </Text>
    </PageFrame>
  )
}
