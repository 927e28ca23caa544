import { textOf } from '../../ui/mentions.ts'
import { pageName } from '../../ui/page-name.ts'
import { AuditTargetsDocument, type AuditTargetsQuery } from '../../../generated/console.ts'
import { useApi } from '../../api/queries.ts'

type Node = NonNullable<NonNullable<AuditTargetsQuery['nodes']>[number]>

/** What a target is called today, and the discussion of a comment. */
export interface NamedTarget {
  name: string | null
  discussionId: string | null
}

/** Names of what the entries of the audit log are about, by id. What is deleted has none. */
export function useTargets(ids: readonly (string | null)[]): ReadonlyMap<string, NamedTarget> {
  const asked = [...new Set(ids.filter((id) => id !== null && UUID.test(id)))] as string[]
  const { data } = useApi(AuditTargetsDocument, { ids: asked }, { enabled: asked.length > 0 })
  const found = (data?.nodes ?? []).filter((node) => node != null)
  return new Map(found.map((node) => [node.id, { name: nameOf(node), discussionId: discussionOf(node) }]))
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

const discussionOf = (node: Node): string | null => (node.__typename === 'Comment' ? node.discussion.id : null)

function nameOf(node: Node): string | null {
  switch (node.__typename) {
    case 'ApiKey':
      return node.label
    case 'Comment':
      return textOf(node)
    case 'Discussion':
      return pageName({ title: node.title, externalId: node.discussionName })
    case 'Import':
    case 'ImportUpload':
      return node.fileName
    case 'Note':
      return node.text
    case 'Site':
      return node.siteName
    case 'TenantExport':
      return `of ${DAY.format(new Date(node.createdAt))}`
    case 'Member':
      return node.email
    case 'Reader':
      return node.name ?? node.readerName
    case 'WebhookEndpoint':
      return node.url
    default:
      return null
  }
}
