import { listOf, type RelayConnection, type RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    method: 'GET',
    path: '/readers/me/notifications',
    summary: 'List notifications',
    description: 'Returns what the asserted reader is told of comments that they can see, newest first.',
    operation: `query ViewerNotifications($first: Int, $after: String, $unread: Boolean) {
      viewer { notifications(first: $first, after: $after, unread: $unread) { ...NotificationConnectionFields } }
    }`,
    status: 200,
    answer: ({ viewer }: { viewer: { notifications: RelayConnection } }) => listOf(viewer.notifications),
  },
  {
    method: 'GET',
    path: '/readers/me/notifications/count',
    summary: 'Count unread notifications',
    description: 'Returns how many notifications the asserted reader has not read.',
    operation: 'query ViewerUnreadNotifications { viewer { unreadNotifications { ...UnreadNotificationsFields } } }',
    status: 200,
    answer: ({ viewer }: { viewer: { unreadNotifications: object } }) => viewer.unreadNotifications,
  },
  {
    method: 'POST',
    path: '/readers/me/notifications/read',
    summary: 'Mark notifications as read',
    description: 'Marks notifications of the asserted reader as read, and returns how many are left. Safe to repeat.',
    operation: `mutation ReadNotifications($input: MarkNotificationsReadInput!) {
      markNotificationsRead(input: $input) { viewer { unreadNotifications { ...UnreadNotificationsFields } } }
    }`,
    status: 200,
    answer: ({ markNotificationsRead }: { markNotificationsRead: { viewer: { unreadNotifications: object } } }) =>
      markNotificationsRead.viewer.unreadNotifications,
  },
  {
    method: 'GET',
    path: '/readers/me/preferences',
    summary: "Retrieve the asserted reader's preferences",
    description: 'Returns which notifications the asserted reader gets.',
    operation: 'query ViewerPreferences { viewer { notificationPreferences { ...NotificationPreferencesFields } } }',
    status: 200,
    answer: ({ viewer }: { viewer: { notificationPreferences: object } }) => viewer.notificationPreferences,
  },
  {
    method: 'PATCH',
    path: '/readers/me/preferences',
    summary: "Update the asserted reader's preferences",
    operation: `mutation UpdatePreferences($input: UpdateNotificationPreferencesInput!) {
      updateNotificationPreferences(input: $input) { viewer { notificationPreferences { ...NotificationPreferencesFields } } }
    }`,
    status: 200,
    answer: ({
      updateNotificationPreferences,
    }: {
      updateNotificationPreferences: { viewer: { notificationPreferences: object } }
    }) => updateNotificationPreferences.viewer.notificationPreferences,
  },
  {
    method: 'GET',
    path: '/notifications/pending',
    summary: 'List pending notifications',
    operation: `query PendingNotifications($first: Int, $after: String, $olderThanSeconds: Int) {
      pendingNotifications(first: $first, after: $after, olderThanSeconds: $olderThanSeconds) {
        ...PendingInboxConnectionFields
      }
    }`,
    status: 200,
  },
  {
    method: 'POST',
    path: '/notifications/handed-out',
    summary: 'Hand out notifications',
    operation: `mutation HandOutNotifications($input: MarkNotificationsHandedOutInput!) {
      markNotificationsHandedOut(input: $input) { handedOutIds }
    }`,
    status: 200,
    answer: ({ markNotificationsHandedOut }: { markNotificationsHandedOut: object }) => ({
      ...markNotificationsHandedOut,
    }),
  },
]
