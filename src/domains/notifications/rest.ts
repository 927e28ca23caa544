import { listOf, type RelayConnection, type RouteDefinition } from '../../graphql/route.ts'

export const routes: readonly RouteDefinition[] = [
  {
    route: 'GET /readers/me/notifications',
    summary: 'List notifications',
    description: 'Returns what the asserted reader is told of comments that they can see, newest first.',
    operation: `query ViewerNotifications($first: Int, $after: String, $unread: Boolean) {
      viewer { notifications(first: $first, after: $after, unread: $unread) { ...NotificationConnectionFields } }
    }`,
    answer: ({ viewer }: { viewer: { notifications: RelayConnection } }) => listOf(viewer.notifications),
  },
  {
    route: 'GET /readers/me/notifications/count',
    summary: 'Count unread notifications',
    description: 'Returns how many notifications the asserted reader has not read.',
    operation: 'query ViewerUnreadNotifications { viewer { unreadNotifications { ...UnreadNotificationsFields } } }',
    answer: ({ viewer }: { viewer: { unreadNotifications: object } }) => viewer.unreadNotifications,
  },
  {
    route: 'POST /readers/me/notifications/read',
    summary: 'Mark notifications as read',
    description: 'Marks notifications of the asserted reader as read, and returns how many are left. Safe to repeat.',
    operation: `mutation ReadNotifications($input: MarkNotificationsReadInput!) {
      markNotificationsRead(input: $input) { viewer { unreadNotifications { ...UnreadNotificationsFields } } }
    }`,
    answer: ({ markNotificationsRead }: { markNotificationsRead: { viewer: { unreadNotifications: object } } }) =>
      markNotificationsRead.viewer.unreadNotifications,
  },
  {
    route: 'GET /readers/me/preferences',
    summary: "Retrieve the asserted reader's preferences",
    description: 'Returns which notifications the asserted reader gets.',
    operation: 'query ViewerPreferences { viewer { notificationPreferences { ...NotificationPreferencesFields } } }',
    answer: ({ viewer }: { viewer: { notificationPreferences: object } }) => viewer.notificationPreferences,
  },
  {
    route: 'PATCH /readers/me/preferences',
    summary: "Update the asserted reader's preferences",
    operation: `mutation UpdatePreferences($input: UpdateNotificationPreferencesInput!) {
      updateNotificationPreferences(input: $input) { viewer { notificationPreferences { ...NotificationPreferencesFields } } }
    }`,
    answer: ({
      updateNotificationPreferences,
    }: {
      updateNotificationPreferences: { viewer: { notificationPreferences: object } }
    }) => updateNotificationPreferences.viewer.notificationPreferences,
  },
  {
    route: 'GET /notifications/pending',
    summary: 'List pending notifications',
    field: 'pendingNotifications',
  },
  {
    route: 'POST /notifications/handed-out',
    summary: 'Hand out notifications',
    operation: `mutation HandOutNotifications($input: MarkNotificationsHandedOutInput!) {
      markNotificationsHandedOut(input: $input) { handedOutIds }
    }`,
    answer: ({ markNotificationsHandedOut }: { markNotificationsHandedOut: object }) => ({
      ...markNotificationsHandedOut,
    }),
  },
]
