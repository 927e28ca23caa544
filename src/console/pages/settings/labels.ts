/** What a setting is called in a form, by its path: its name in the API is for programs. */
export const LABELS: Readonly<Record<string, string>> = {
  moderationMode: 'Moderation mode',
  bannedWords: 'Banned words',
  suspectWords: 'Suspect words',
  maxLinks: 'Links that a comment may have',
  holdFirstComments: 'First comments that are held',
  reportThreshold: 'Reports until a moderator is asked',
  editWindowSeconds: 'Time to edit a comment',
  maxDepth: 'Depth of replies',
  autoCloseDays: 'Lock old discussions',
  reactionTypes: 'Reactions',
  erasureMode: 'Comments of an erased reader',
  allowedOrigins: 'Allowed origins',
  activeKeyBudget: 'Active API keys',
  'rateLimit.perSecond': 'Requests a second with one key',
  'rateLimit.burst': 'Requests at once with one key',
  'stream.replayHours': 'Time in which events can be replayed',
  'stream.replayEvents': 'Events that can be replayed',
  'stream.maxStreams': 'Streams open at once',
  'stream.maxStreamsPerReader': 'Streams of one reader open at once',
  'stream.maxStreamsPerTicket': 'Streams of one ticket open at once',
  'stream.maxStreamsPerAddress': 'Streams of readers at one address open at once',
  'stream.maxDurationSeconds': 'Longest stream',
  'ticket.connectSeconds': 'Time to open a stream with a ticket',
  'ticket.reconnectSeconds': 'Time to resume a stream with a ticket',
  webhookEndpoints: 'Webhook endpoints',
  'webhookPolicy.maxAttempts': 'Attempts at a delivery',
  'webhookPolicy.backoffBaseMs': 'Wait after the first failure',
  'webhookPolicy.timeoutMs': 'Longest attempt',
  'webhookPolicy.breakerThreshold': 'Failures until a pause',
  'webhookPolicy.breakerCooldownMs': 'Length of a pause',
  'webhookPolicy.disableThreshold': 'Failures until it is disabled',
  deliveryRetentionDays: 'Time that finished deliveries are kept',
  'identity.issuer': 'Issuer',
  'identity.jwksUrl': 'Address of the public keys',
  'classifier.url': 'Address of the classifier',
  'classifier.fallback': 'If it does not answer',
}

/** What is said of a setting, or a group of them, where the words of the API name its own parts. */
const TEXTS: Readonly<Record<string, string>> = {
  autoCloseDays: 'Days after which a discussion is locked; 1 to 3 650.',
  'webhookPolicy.disableThreshold':
    'Failures in a row that disable the endpoint; 1 to 1 000, and no fewer than open the circuit.',
  'identity.issuer': 'The "iss" of assertions that are signed with one of the public keys.',
  classifier: 'A service of yours that judges new comments.',
}

/** The words of the API on a setting, by its path, as a person reads them. */
export const textOf = (path: string, ofApi: string): string => TEXTS[path] ?? ofApi
