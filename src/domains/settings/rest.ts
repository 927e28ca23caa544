import {
  PublicSettingsDocument,
  SettingsDocument,
  UpdateSettingsDocument,
  WordMatchesDocument,
} from '../../generated/documents.ts'
import { type Route, route } from '../../schema/route.ts'

export const routes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/settings',
    summary: 'Retrieve the settings',
    document: SettingsDocument,
    status: 200,
  }),
  route({
    method: 'GET',
    path: '/settings/public',
    summary: 'Retrieve the public settings',
    document: PublicSettingsDocument,
    status: 200,
  }),
  route({
    method: 'PATCH',
    path: '/settings',
    summary: 'Update the settings',
    document: UpdateSettingsDocument,
    status: 200,
  }),
  route({
    method: 'POST',
    path: '/settings/word-matches',
    summary: 'Try a word list',
    document: WordMatchesDocument,
    status: 200,
  }),
]
