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

/** The pages, in the order of the day. `path` is the first part of their URLs. */
export const NAVIGATION: readonly { path: string; label: string; icon: ComponentType<IconProps> }[] = [
  { path: '', label: 'Overview', icon: IconChartBar },
  { path: 'moderation', label: 'Moderation', icon: IconShieldCheck },
  { path: 'discussions', label: 'Discussions', icon: IconMessages },
  { path: 'readers', label: 'Readers', icon: IconAddressBook },
  { path: 'webhooks', label: 'Webhooks', icon: IconWebhook },
  { path: 'keys', label: 'API keys', icon: IconKey },
  { path: 'identity', label: 'Identity', icon: IconFingerprint },
  { path: 'settings', label: 'Settings', icon: IconSettings },
  { path: 'audit', label: 'Audit log', icon: IconReportSearch },
]
