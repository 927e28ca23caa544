import { Badge, createTheme, type CSSVariablesResolver, MantineProvider, Notification } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { createBrowserRouter, RouterProvider } from 'react-router'

import { queryClient } from './api/queries.ts'
import { useSession } from './api/session.ts'
import { styleNonce } from './nonce.ts'
import { Pages } from './pages.tsx'
import { Shell } from './shell/shell.tsx'
import { SignInAgain } from './shell/sign-in-again.tsx'
import { SignInPage } from './shell/sign-in-page.tsx'
import { AllFailed } from './ui/boundary.tsx'

const theme = createTheme({
  primaryColor: 'indigo',
  // Dimmed and coloured text keeps a contrast of 4.5 to 1 in both themes.
  primaryShade: { light: 7, dark: 7 },
  autoContrast: true,
  cursorType: 'pointer',
  defaultRadius: 'md',
  components: {
    Notification: Notification.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close the notice' } } }),
    // A long badge wraps: on a phone it would be cut off.
    Badge: Badge.extend({
      defaultProps: { variant: 'default', tt: 'none', miw: 'min-content', h: 'auto', mih: 'var(--badge-height)' },
      styles: { label: { whiteSpace: 'normal', overflow: 'visible' } },
    }),
  },
})

// White text is readable on these.
const DANGER = { '--mantine-color-red-filled': '#c92a2a', '--mantine-color-red-filled-hover': '#a61e1e' }

// The library's colours have less than 4.5 to 1.
const variables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-placeholder': colors.gray[7],
    '--mantine-color-error': colors.red[9],
    ...DANGER,
  },
  dark: {
    '--mantine-color-dimmed': colors.dark[1],
    '--mantine-color-placeholder': colors.dark[1],
    '--mantine-color-error': colors.red[4],
    ...DANGER,
  },
})

// The page's path below the host: a proxy may have put one in front.
const BASE_PATH = new URL(document.baseURI).pathname.replace(/\/$/, '')

// One route for all pages, which `Pages` resolves; a data router, so that a page can ask before it
// is left.
const router = createBrowserRouter(
  [
    {
      path: 'invitation',
      lazy: async () => ({ Component: (await import('./shell/invitation-page.tsx')).InvitationPage }),
      errorElement: <AllFailed />,
    },
    { path: '*', element: <SignedIn />, errorElement: <AllFailed /> },
  ],
  {
    basename: BASE_PATH,
  },
)

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={styleNonce}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  )
}

function SignedIn() {
  const { session, isExpired } = useSession()
  if (session === null) return <SignInPage />
  return (
    <>
      {/* Another member, signed in by another tab, starts with a new state. */}
      <Shell key={session.member.id}>
        <Pages />
      </Shell>
      {isExpired && <SignInAgain known={{ email: session.member.email, tenant: session.tenant }} />}
    </>
  )
}
