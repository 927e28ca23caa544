import {
  IconAddressBook,
  IconChartBar,
  IconFingerprint,
  IconKey,
  IconMessages,
  IconReportSearch,
  IconSettings,
  IconShieldCheck,
  type IconProps,
  IconWebhook,
} from '../ui/icons.tsx'
import type { ComponentType } from 'react'

import type { TopPage } from '../pages.tsx'

/** The pages by the first part of their URLs, in the order of the day. */
export const NAVIGATION: Readonly<Record<TopPage, { label: string; icon: ComponentType<IconProps> }>> = {
  '/': { label: 'Overview', icon: IconChartBar },
  moderation: { label: 'Moderation', icon: IconShieldCheck },
  discussions: { label: 'Discussions', icon: IconMessages },
  readers: { label: 'Readers', icon: IconAddressBook },
  webhooks: { label: 'Webhooks', icon: IconWebhook },
  keys: { label: 'API keys', icon: IconKey },
  identity: { label: 'Identity', icon: IconFingerprint },
  settings: { label: 'Settings', icon: IconSettings },
  audit: { label: 'Audit log', icon: IconReportSearch },
}
