import {
  IconAddressBook,
  IconChartBar,
  IconFingerprint,
  IconKey,
  IconMessages,
  IconReportSearch,
  IconSearch,
  IconSettings,
  IconShieldCheck,
  IconUserCircle,
  type IconProps,
  IconUsers,
  IconWebhook,
  IconWorld,
} from '../ui/icons.tsx'
import type { ComponentType } from 'react'

import type { TopPage } from '../pages.tsx'

/** The pages by the first part of their URLs, in the order of the day. */
export const NAVIGATION: Readonly<Record<TopPage, { label: string; icon: ComponentType<IconProps> }>> = {
  '/': { label: 'Overview', icon: IconChartBar },
  moderation: { label: 'Moderation', icon: IconShieldCheck },
  search: { label: 'Search', icon: IconSearch },
  discussions: { label: 'Discussions', icon: IconMessages },
  readers: { label: 'Readers', icon: IconAddressBook },
  team: { label: 'Team', icon: IconUsers },
  sites: { label: 'Sites', icon: IconWorld },
  webhooks: { label: 'Webhooks', icon: IconWebhook },
  keys: { label: 'API keys', icon: IconKey },
  identity: { label: 'Identity', icon: IconFingerprint },
  settings: { label: 'Settings', icon: IconSettings },
  members: { label: 'Members', icon: IconUserCircle },
  audit: { label: 'Audit log', icon: IconReportSearch },
}
