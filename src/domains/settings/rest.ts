import { PublicSettingsDocument, SettingsDocument, UpdateSettingsDocument } from '../../generated/documents.ts'
import { type Route, route } from '../../rest/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/settings',
    summary: "The tenant's settings in force",
    document: SettingsDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/settings/public',
    summary: 'What a page for readers must know of the settings',
    document: PublicSettingsDocument,
    status: 200,
  }),
  route({
    method: 'PATCH',
    path: '/settings',
    summary: 'Change settings; what is left out stays as it is',
    document: UpdateSettingsDocument,
    status: 200,
  }),
]
