import type { NoticeCause, NoticeKind } from './causes.ts'

/** A message to staff. */
export interface Notice {
  cause: NoticeCause | 'test'
  /** The slug of the tenant. */
  tenant: string
  text: string
  /** The page of the console. */
  url: string
  at: Date
}

/** Slack reads `<!channel>` and links in these. */
const forSlack = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const line = ({ tenant, text }: Notice): string => `[${tenant}] ${text}`

const FORMS: Readonly<Record<NoticeKind, (notice: Notice) => object>> = {
  // https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
  slack: (notice) => ({ text: `${forSlack(line(notice))} <${forSlack(notice.url)}|Open the console>` }),
  // https://docs.discord.com/developers/resources/webhook#execute-webhook
  discord: (notice) => ({
    content: `${line(notice)} <${notice.url}>`,
    // No text can call anyone.
    allowed_mentions: { parse: [] },
  }),
  // What the trigger "When a Teams webhook request is received" takes.
  teams: (notice) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [{ type: 'TextBlock', text: line(notice), wrap: true }],
          actions: [{ type: 'Action.OpenUrl', title: 'Open the console', url: notice.url }],
        },
      },
    ],
  }),
  webhook: ({ at, ...notice }) => ({ ...notice, at: at.toISOString() }),
}

/** The body of a message, as JSON, in the form of a kind. */
export const bodyFor = (kind: NoticeKind, notice: Notice): string => JSON.stringify(FORMS[kind](notice))
