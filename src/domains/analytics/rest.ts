import { AnalyticsSummaryDocument, AnalyticsTopDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/analytics/summary',
    summary: 'Retrieve the analytics summary',
    document: AnalyticsSummaryDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/analytics/top',
    summary: 'List top discussions and readers',
    document: AnalyticsTopDocument,
    status: 200,
  }),
]
