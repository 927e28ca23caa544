import {
  ActionIcon,
  AppShell,
  Burger,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Text,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { IconDeviceDesktop, IconLogout, IconMoon, IconSun, IconUser, IconUserCircle } from '../ui/icons.tsx'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation, useNavigate } from 'react-router'

import { MeDocument } from '../../generated/console.ts'
import { wordsOf } from '../api/errors.ts'
import { useApi } from '../api/queries.ts'
import { useSession } from '../api/session.ts'
import { signOut, switchTenant } from '../api/sign-in.ts'
import { mayOpen } from '../pages.tsx'
import { NAVIGATION } from './navigation.ts'
import { useShortcuts, useShortcutsSetting } from '../ui/inputs/keys.ts'

/** The frame around every page: the tenant's name, the navigation, the theme, the sign-out. */
export function Shell({ children }: { children: ReactNode }) {
  const [isOpen, { toggle, close }] = useDisclosure()
  const main = useRef<HTMLElement>(null)
  useSlash(mayOpen('/search'))
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a href="#main" className="skip-link" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the page
      </a>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <TenantName />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <ThemeMenu />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" component="nav" aria-label="Pages">
        <Navigation onGo={close} />
      </AppShell.Navbar>
      <AppShell.Main ref={main} id="main" tabIndex={-1} style={{ outline: 'none' }}>
        {children}
      </AppShell.Main>
    </AppShell>
  )
}

function TenantName() {
  const { session } = useSession()
  return (
    <Text fw={600} truncate>
      {session?.tenant}
    </Text>
  )
}

function Navigation({ onGo }: { onGo: () => void }) {
  const { pathname } = useLocation()
  useEffect(onGo, [pathname, onGo])
  return (
    <ScrollArea>
      {Object.entries(NAVIGATION).map(([path, { label, icon: Icon }]) => {
        const to = path === '/' ? path : `/${path}`
        if (!mayOpen(to)) return null
        const isHere = `/${pathname.split('/')[1]}` === to
        return (
          <NavLink
            key={path}
            component={Link}
            to={to}
            label={label}
            leftSection={<Icon size={18} aria-hidden />}
            active={isHere}
            aria-current={isHere ? 'page' : undefined}
            variant="light"
          />
        )
      })}
    </ScrollArea>
  )
}

const SCHEMES = [
  { value: 'light', label: 'Light', icon: IconSun },
  { value: 'dark', label: 'Dark', icon: IconMoon },
  { value: 'auto', label: 'As the system', icon: IconDeviceDesktop },
] as const

function ThemeMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const { icon: Icon } = SCHEMES.find(({ value }) => value === colorScheme) ?? SCHEMES[2]
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Theme">
          <Icon size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {SCHEMES.map(({ value, label, icon: Each }) => (
          <Menu.Item key={value} leftSection={<Each size={16} />} onClick={() => setColorScheme(value)}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

function AccountMenu() {
  const { session } = useSession()
  const { data } = useApi(MeDocument, {})
  const others = data?.me?.tenants.filter(({ slug }) => slug !== session?.tenant) ?? []
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Account">
          <IconUserCircle size={20} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {session?.member.email}, {session?.member.role}
        </Menu.Label>
        <Menu.Item leftSection={<IconUser size={16} />} component={Link} to="/profile">
          Your account
        </Menu.Item>
        {others.length > 0 && <Menu.Label>Switch to</Menu.Label>}
        {others.map(({ slug, name }) => (
          <Menu.Item key={slug} onClick={() => void switchTo(slug)}>
            {name}
          </Menu.Item>
        ))}
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

const switchTo = (slug: string): Promise<unknown> =>
  switchTenant(slug).catch((error: unknown) => notifications.show({ color: 'red', message: wordsOf(error) }))

/** `/` goes to the search over all comments, for those who may use it. */
function useSlash(isAllowed: boolean): void {
  const [isOn] = useShortcutsSetting()
  const navigate = useNavigate()
  useShortcuts(isOn && isAllowed, {
    '/': () => {
      const isThere = location.pathname.endsWith('/console/search')
      void navigate(isThere ? { search: location.search } : '/search', { replace: isThere, state: { isToType: true } })
    },
  })
}
