import { AnalyticsSummaryDocument, AnalyticsTopDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/analytics/summary',
    summary: 'What happened, by hour or day: comments, reactions, active readers, reports, deliveries',
    document: AnalyticsSummaryDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/analytics/top',
    summary: 'The discussions and readers with the most approved comments of some days',
    document: AnalyticsTopDocument,
    status: 200,
  }),
]
