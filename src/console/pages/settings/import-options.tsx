import { Checkbox, FileInput, Select, Stack, TextInput } from '@mantine/core'

import type { CreateImportUploadInput } from '../../../generated/console.ts'

/** What the command line takes as `--map`, `--authors`, `--page`, `--keep-query` and `--as`. */
export interface Options {
  map: File | null
  authors: File | null
  page: string | null
  keepQuery: boolean
  as: string
}

export const NO_OPTIONS: Options = { map: null, authors: null, page: null, keepQuery: false, as: '' }

/** A character of a table has four bytes at most, and the service takes 100 000. */
const MAX_TABLE_BYTES = 400_000

const tableOf = async (file: File | null): Promise<string | null> => {
  if (file === null) return null
  if (file.size > MAX_TABLE_BYTES)
    throw new Error(`${file.name} is too long for the console. Import with the command line.`)
  return file.text()
}

/** The options as the service takes them. Throws for a table that is too long. */
export async function inputOf({
  map,
  authors,
  page,
  keepQuery,
  as,
}: Options): Promise<Pick<CreateImportUploadInput, 'map' | 'authors' | 'page' | 'keepQuery' | 'as'>> {
  return {
    map: await tableOf(map),
    authors: await tableOf(authors),
    page,
    keepQuery,
    as: as.trim() === '' ? null : as.trim(),
  }
}

const PAGES = [
  { value: 'url', label: 'Its address' },
  { value: 'path', label: 'The path of its address' },
  { value: 'id', label: 'Its id at the source' },
  { value: 'slug', label: 'The last part of the path of its address' },
]

/** Fields for the options of an import. */
export function ImportOptions({ options, onChange }: { options: Options; onChange: (options: Options) => void }) {
  const set = (news: Partial<Options>): void => onChange({ ...options, ...news })
  return (
    <Stack gap="sm">
      <FileInput
        label="New addresses of pages"
        description="A CSV file of two columns: the old address of a page, and the new one"
        placeholder="Choose a file"
        accept=".csv,text/csv"
        clearable
        clearButtonProps={{ 'aria-label': 'No new addresses' }}
        value={options.map}
        onChange={(map) => set({ map })}
      />
      <FileInput
        label="Your ids of readers"
        description="A CSV file of two columns: the e-mail address of a reader, or their id at the source, and your id"
        placeholder="Choose a file"
        accept=".csv,text/csv"
        clearable
        clearButtonProps={{ 'aria-label': 'No ids of readers' }}
        value={options.authors}
        onChange={(authors) => set({ authors })}
      />
      <Select
        label="External id of a page"
        description="By default its external id at the source, else its address"
        placeholder="The default"
        data={PAGES}
        value={options.page}
        onChange={(page) => set({ page })}
        clearable
        clearButtonProps={{ 'aria-label': 'The default' }}
      />
      <TextInput
        label="Name of the source"
        description="To import two sites of one system whose ids may be the same"
        maxLength={40}
        value={options.as}
        onChange={({ currentTarget }) => set({ as: currentTarget.value })}
      />
      <Checkbox
        label="Keep utm_…, fbclid, gclid and the like in addresses of pages, and what follows #"
        checked={options.keepQuery}
        onChange={({ currentTarget }) => set({ keepQuery: currentTarget.checked })}
      />
    </Stack>
  )
}
